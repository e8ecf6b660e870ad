#!/usr/bin/env python3
"""Kills a real HBase again and again under a mount that is written and read.

usage: kills.py BUILD KILLS

Three writers put rows and put over one row, one adds to a counter, and one lists
all rows, while the server (a master and a region server in one process,
lab/lab) gets SIGKILL and is started again. Each must see a pause and then the
right result: no call fails, what was acknowledged is there, every listing has the
rows that were acknowledged before it, and the counter is the number of sums that
were acknowledged, none applied twice.
"""
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
LAB = HERE / "lab/lab"
WRITERS = 3


class Campaign:
    def __init__(self, build, lab, mount, address):
        self.lab, self.mount = lab, mount
        self.table = mount / "kills"
        self.cellctl = build / "tools/cellctl"
        self.store = f"hbase://{address}"
        self.over = False
        self.failures = []
        self.acknowledged = [[] for _ in range(WRITERS)]
        self.newest = [0] * WRITERS
        self.sums = 0
        self.listings = 0

    def fail(self, what):
        self.failures.append(what)
        print(f"FAILED: {what}", flush=True)
        self.over = True

    def guarded(self, step, *args):
        while not self.over:
            try:
                step(*args)
            except Exception as e:
                self.fail(f"{step.__name__}: {e}")

    def put(self, path, text):
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            os.write(fd, text.encode())
        finally:
            os.close(fd)

    def write(self, who):
        n = len(self.acknowledged[who])
        row = f"w{who}-{n:07}"
        self.put(self.table / ".put" / row / "f:q", str(n))
        self.acknowledged[who].append(row)
        self.put(self.table / ".put" / f"w{who}" / "f:q", str(n))
        self.newest[who] = n

    def add(self):
        done = subprocess.run([self.cellctl, "incr", self.store, "kills", "counter", "f:n"],
                              capture_output=True, text=True, timeout=180)
        if done.returncode:
            raise AssertionError(done.stderr.strip())
        self.sums += 1

    def list(self):
        before = [list(rows) for rows in self.acknowledged]
        seen = set(os.listdir(self.table))
        for rows in before:
            missing = [r for r in rows if r not in seen]
            if missing:
                raise AssertionError(f"{len(missing)} of {len(rows)} rows are not listed: {missing[:3]}")
        self.listings += 1

    def verify(self):
        self.list()
        for who in range(WRITERS):
            got = (self.table / f"w{who}" / "f:q").read_text()
            if int(got) < self.newest[who]:
                self.fail(f"w{who} has {got}, {self.newest[who]} was acknowledged")
            for row in random.sample(self.acknowledged[who], min(200, len(self.acknowledged[who]))):
                if (self.table / row / "f:q").read_text() != str(int(row[3:])):
                    self.fail(f"{row} has another value")
        got = int.from_bytes((self.table / "counter" / "f:n").read_bytes(), "big")
        if got != self.sums:
            self.fail(f"the counter is {got}, {self.sums} sums were acknowledged")

    def run(self, kills):
        threads = [threading.Thread(target=self.guarded, args=(self.write, i)) for i in range(WRITERS)]
        threads += [threading.Thread(target=self.guarded, args=(f,)) for f in (self.add, self.list)]
        for t in threads:
            t.start()
        for n in range(kills):
            time.sleep(random.uniform(1, 5))
            if self.over:
                break
            began = time.monotonic()
            subprocess.run([LAB, "kill", self.lab], check=True)
            subprocess.run([LAB, "start", self.lab], check=True, stdout=subprocess.DEVNULL)
            print(f"kill {n + 1}: back after {time.monotonic() - began:.0f} s, "
                  f"{sum(map(len, self.acknowledged))} rows, {self.sums} sums, "
                  f"{self.listings} listings", flush=True)
        time.sleep(3)
        self.over = True
        for t in threads:
            t.join()
        if not self.failures:
            self.verify()
        return not self.failures


def main():
    build, kills = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2])
    with tempfile.TemporaryDirectory() as tmp:
        lab, mount = pathlib.Path(tmp) / "lab", pathlib.Path(tmp) / "mnt"
        mount.mkdir()
        done = subprocess.run([LAB, "start", lab], stdout=subprocess.PIPE, text=True)
        if done.returncode:
            sys.exit(done.returncode)
        c = Campaign(build, lab, mount, done.stdout.strip())
        daemon = subprocess.Popen([build / "fs/cellfs", "-f", c.store, mount])
        try:
            subprocess.run([c.cellctl, "create", c.store, "kills", "f"], check=True)
            while not c.table.is_dir():
                time.sleep(0.1)
            ok = c.run(kills)
        finally:
            subprocess.run(["fusermount3", "-u", mount])
            daemon.wait()
            subprocess.run([LAB, "kill", lab])
        print("kills: nothing was lost" if ok else "kills: FAILED")
        sys.exit(not ok)


main()
