#!/usr/bin/env python3
"""A server that is not the master of a cluster, for bats/hbase_absent.bats and
hbase/secure.bats.

usage: not-hbase.py silent | http | ends | refuses | tls FILE USER

Prints its port. It then takes connections on loopback, and
  silent   reads nothing and answers nothing
  http     answers as a server of web pages does
  ends     closes each connection when the first bytes have come
  refuses  answers as a server of HBase whose service this is not
  tls      does so inside TLS, with the key and certificate in FILE, when USER has
           greeted it there without Kerberos
"""
import pathlib
import socket
import ssl
import sys
import threading

CORPUS = pathlib.Path(__file__).parent.parent / "fuzz/corpus/hbase_frame"


def refusal():
    body = (CORPUS / "fatal").read_bytes()
    return len(body).to_bytes(4, "big") + body


ANSWERS = {
    "http": b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n",
    "ends": b"",
    "refuses": refusal(),
}


def serve(client, answer):
    with client:
        if client.recv(1):
            client.sendall(answer)
            client.shutdown(socket.SHUT_WR)
            while client.recv(4096) and answer:
                pass


def serve_tls(client, file, user):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    with context.wrap_socket(client, server_side=True) as inside:
        heard = b""
        while b"ClientMetaService" not in heard:
            heard += inside.recv(4096) or sys.exit()
        if heard.startswith(b"HBas\0\x50") and user.encode() in heard:
            inside.sendall(ANSWERS["refuses"])
            while inside.recv(4096):
                pass


def main():
    kind = sys.argv[1]
    with socket.create_server(("127.0.0.1", 0)) as s:
        print(s.getsockname()[1], flush=True)
        held = []
        while True:
            client = s.accept()[0]
            if kind == "silent":
                held.append(client)
            elif kind == "tls":
                threading.Thread(target=serve_tls, args=(client, *sys.argv[2:]), daemon=True).start()
            else:
                threading.Thread(target=serve, args=(client, ANSWERS[kind]), daemon=True).start()


main()
