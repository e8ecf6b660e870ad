#!/usr/bin/env python3
"""Kills a real HBase again and again under a mount that is written and read.

usage: kills.py BUILD KILLS

Three writers put rows and put over one row, one adds to a counter, one adds to
another by cellctl, and one lists all rows, while the server (a master and a region
server in one process, lab/lab) gets SIGKILL and is started again. Each must see a
pause and then the right result: no call fails, what was acknowledged is there,
every listing has the rows that were acknowledged before it, and a counter is the
number of sums that were acknowledged, none applied twice.

The mount waits as long as a start can take. cellctl waits for a minute: where a
start took longer, a sum that it gave up then may be there or not, but once.
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
START_SECONDS = 900
CELLCTL_SECONDS = 60


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
        self.sums = self.tool_sums = self.tool_unknown = 0
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
        self.put(self.table / "counter/f/n/counter", "1")
        self.sums += 1

    def add_by_tool(self):
        began = time.monotonic()
        done = subprocess.run([self.cellctl, "incr", self.store, "kills", "counter", "f:tool"],
                              capture_output=True, text=True, timeout=START_SECONDS)
        if not done.returncode:
            self.tool_sums += 1
        elif time.monotonic() - began < CELLCTL_SECONDS * 0.9:
            raise AssertionError(done.stderr.strip())
        else:
            self.tool_unknown += 1

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
        self.verify_counter("n", self.sums, self.sums)
        self.verify_counter("tool", self.tool_sums, self.tool_sums + self.tool_unknown)

    def verify_counter(self, name, least, most):
        got = int((self.table / "counter/f" / name / "counter").read_text())
        if not least <= got <= most:
            self.fail(f"the counter {name} is {got}, {least} to {most} sums were acknowledged")

    def run(self, kills):
        threads = [threading.Thread(target=self.guarded, args=(self.write, i)) for i in range(WRITERS)]
        threads += [threading.Thread(target=self.guarded, args=(f,)) for f in (self.add, self.add_by_tool, self.list)]
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
                  f"{self.tool_sums} by cellctl ({self.tool_unknown} unknown), "
                  f"{self.listings} listings", flush=True)
        time.sleep(3)
        self.over = True
        for t in threads:
            t.join()
        if not self.failures:
            self.verify()
        return not self.failures


def main():
    os.environ.update(CELLFS_LAB_SECONDS=str(START_SECONDS), CELLFS_LAB_BRIEF="1")
    build, kills = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2])
    with tempfile.TemporaryDirectory() as tmp:
        lab, mount = pathlib.Path(tmp) / "lab", pathlib.Path(tmp) / "mnt"
        mount.mkdir()
        done = subprocess.run([LAB, "start", lab], stdout=subprocess.PIPE, text=True)
        if done.returncode:
            sys.exit(done.returncode)
        c = Campaign(build, lab, mount, done.stdout.strip())
        daemon = subprocess.Popen([build / "fs/cellfs", "-f", "-o", f"timeout={START_SECONDS}", c.store, mount])
        try:
            subprocess.run([c.cellctl, "create", c.store, "kills", "f"], check=True)
            while not c.table.is_dir():
                time.sleep(0.1)
            (c.table / "counter/f/n").mkdir(parents=True)
            ok = c.run(kills)
        finally:
            subprocess.run(["fusermount3", "-u", mount])
            daemon.wait()
            subprocess.run([LAB, "kill", lab])
        print("kills: nothing was lost" if ok else "kills: FAILED")
        sys.exit(not ok)


main()
