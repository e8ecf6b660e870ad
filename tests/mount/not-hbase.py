#!/usr/bin/env python3
"""A server that is not the master of a cluster, for bats/hbase_absent.bats.

usage: not-hbase.py silent | http | ends | refuses | deaf
       not-hbase.py mute FILE
       not-hbase.py tls | mutual | old REALM

Prints its port. It then takes connections on loopback, and
  silent   reads nothing and answers nothing
  http     answers as a server of web pages does
  ends     closes each connection when the first bytes have come
  refuses  answers as a server of HBase whose service this is not
  deaf     takes none: it has two ports, at which nobody listens
  mute     names its cluster to who asks for that first, and answers nothing more:
           FILE has a line for each further call
  tls      shakes hands with the certificate of localhost that is in REALM, which
           hbase/lab/realm has made, then does as http
  mutual   wants a certificate of REALM's authority as well
  old      knows no TLS later than 1.1
"""
import pathlib
import signal
import socket
import ssl
import sys
import threading

CORPUS = pathlib.Path(__file__).parent.parent / "fuzz/corpus/hbase_frame"


def frame(name):
    body = (CORPUS / name).read_bytes()
    return len(body).to_bytes(4, "big") + body


ANSWERS = {
    "http": b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n",
    "ends": b"",
    "refuses": frame("fatal"),
}


def context(kind, realm):
    c = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    c.load_cert_chain(f"{realm}/server.pem", f"{realm}/server.key")
    if kind == "mutual":
        c.verify_mode = ssl.CERT_REQUIRED
        c.load_verify_locations(f"{realm}/ca.pem")
    if kind == "old":
        # This side takes what no program should take any more.
        c.set_ciphers("ALL:@SECLEVEL=0")
        c.minimum_version = ssl.TLSVersion.TLSv1
        c.maximum_version = ssl.TLSVersion.TLSv1_1
    return c


def serve(client, answer, tls):
    try:
        with tls.wrap_socket(client, server_side=True) if tls else client as c:
            if c.recv(1):
                c.sendall(answer)
                c.shutdown(socket.SHUT_WR)
                while c.recv(4096) and answer:
                    pass
    except OSError:
        pass  # the other side does not want it


def mute(client, path, named=[]):
    with client, client.makefile("rb") as calls, open(path, "a") as asked:
        calls.read(6)  # the preamble; a greeting and calls have their length in front
        calls.read(int.from_bytes(calls.read(4), "big"))
        while length := calls.read(4):
            calls.read(int.from_bytes(length, "big"))
            if named:
                print("a call", file=asked, flush=True)
            else:
                named.append(client.send(frame("cluster-id")))


def deaf():
    with socket.socket() as one, socket.socket() as two:
        for s in one, two:
            s.bind(("127.0.0.1", 0))
        print(one.getsockname()[1], two.getsockname()[1], flush=True)
        signal.pause()


def main():
    kind = sys.argv[1]
    if kind == "deaf":
        deaf()
    tls = context(kind, sys.argv[2]) if kind in ("tls", "mutual", "old") else None
    answer = ANSWERS.get("http" if tls else kind)
    with socket.create_server(("127.0.0.1", 0)) as s:
        print(s.getsockname()[1], flush=True)
        held = []
        while True:
            client = s.accept()[0]
            if kind == "silent":
                held.append(client)
            elif kind == "mute":
                threading.Thread(target=mute, args=(client, sys.argv[2]), daemon=True).start()
            else:
                threading.Thread(target=serve, args=(client, answer, tls), daemon=True).start()


main()
