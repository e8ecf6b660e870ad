#!/usr/bin/env python3
"""A server that is not the master of a cluster, for bats/hbase_absent.bats.

usage: not-hbase.py silent | http | ends | refuses

Prints its port. It then takes connections on loopback, and
  silent   reads nothing and answers nothing
  http     answers as a server of web pages does
  ends     closes each connection when the first bytes have come
  refuses  answers as a server of HBase whose service this is not
"""
import pathlib
import socket
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


def main():
    kind = sys.argv[1]
    with socket.create_server(("127.0.0.1", 0)) as s:
        print(s.getsockname()[1], flush=True)
        held = []
        while True:
            client = s.accept()[0]
            if kind == "silent":
                held.append(client)
            else:
                threading.Thread(target=serve, args=(client, ANSWERS[kind]), daemon=True).start()


main()
