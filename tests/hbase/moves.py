#!/usr/bin/env python3
"""Regions of a real HBase split, merge, move and lose their server under a mount.

usage: moves.py BUILD LAB [ROUNDS]

LAB is a lab of two region servers that runs (lab/lab start LAB 2). One lists
all rows, one reads the table's stream slowly, so that a region goes in the middle
of it, one reads a cell here and there, one puts new rows, and some add to a counter,
over and over, while HBase's own client (lab/Client.java) does one thing after the
other to the regions. In each round the second server has half of the rows when it
gets SIGKILL, and is started again. Each must see a pause and then the right result:
all rows that were there from the beginning, in order and each once, with all their
cells; each row that was acknowledged before; and a counter that is the number of sums
that were acknowledged.

A region has more than what is fetched of it ahead, so that there are scanners to be
lost, and a row has two cells, so that one may be lost inside a row.
"""
import itertools
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
ROWS = [f"r{n:04}" for n in range(2000)]
BORDERS = ["r0500", "r1000", "r1500"]
CELLS = [f"{row}\tf:{q}\t1\t{(row + q) * 1000}" for row in ROWS for q in "ab"]  # as lines of a stream
PIECE, PAUSE = 1 << 18, 0.01  # of a stream, and between two of them
ADDERS = 3  # by the mount


class Java:
    """HBase's own client: a command a line."""

    def __init__(self, lab):
        self.process = subprocess.Popen([LAB, "java", lab, HERE / "lab/Client.java"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.read()

    def read(self):
        line = self.process.stdout.readline().rstrip("\n")
        if not line.startswith("ok"):
            raise AssertionError(f"HBase's client: {line}")
        return line[3:]

    def do(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        return self.read()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Moves:
    def __init__(self, build, lab, mount, java):
        self.lab, self.mount, self.java = lab, mount, java
        self.table = mount / "moves"
        self.cellctl = build / "tools/cellctl"
        self.store = "hbase://127.0.0.1:" + (lab / "master").read_text().strip()
        self.second = int((lab / "server.2").read_text())
        self.over = False
        self.failures = []
        self.put_rows = []
        self.sums = 0
        self.lock = threading.Lock()
        self.workers = [self.list, self.stream, self.read_cell, self.put, self.add] + [self.add_by_mount] * ADDERS
        self.done = {work.__name__: 0 for work in self.workers}

    def run_over(self, work):
        while not self.over:
            try:
                work()
                with self.lock:
                    self.done[work.__name__] += 1
            except Exception as e:
                self.failures.append(f"{work.__name__}: {e}")
                print(f"FAILED: {self.failures[-1]}", flush=True)
                self.over = True

    def check(self, seen, before):
        """A list of rows, in the order in which they came."""
        if seen != sorted(set(seen)):
            at = next(i for i in range(1, len(seen)) if seen[i] <= seen[i - 1])
            raise AssertionError(f"{seen[at]} came behind {seen[at - 1]}")
        fixed = [r for r in seen if r.startswith("r")]
        if fixed != ROWS:
            raise AssertionError(f"{len(fixed)} of {len(ROWS)} rows, not {sorted(set(ROWS) - set(fixed))[:3]}")
        missing = sorted(set(before) - set(seen))
        if missing:
            raise AssertionError(f"{missing[:3]} were acknowledged and are not there")

    def list(self):
        before = list(self.put_rows)
        self.check(os.listdir(self.table), before)

    def stream(self):
        before, text = list(self.put_rows), b""
        fd = os.open(self.table / ".cells", os.O_RDONLY)
        try:
            while piece := os.read(fd, PIECE):
                text += piece
                time.sleep(PAUSE)
        finally:
            os.close(fd)
        lines = text.decode().splitlines()
        self.check([row for row, _ in itertools.groupby(line.split("\t", 1)[0] for line in lines)], before)
        for line, cell in itertools.zip_longest((line for line in lines if line.startswith("r")), CELLS):
            if line != cell:
                raise AssertionError(f"{str(line)[:9]} is where {str(cell)[:9]} was put")

    def read_cell(self):
        row, name, _, value = random.choice(CELLS).split("\t")
        if (self.table / row / name).read_text() != value:
            raise AssertionError(f"{row}/{name} has another value")

    def put(self):
        # Anywhere among the rows, so in each region.
        n = len(self.put_rows)
        row = f"{ROWS[n * 37 % len(ROWS)].replace('r', 'q' if n % 2 else 's')}-{n}"
        (self.table / ".put" / row / "f:q").write_text(str(n))
        self.put_rows.append(row)

    def add(self):
        done = subprocess.run([self.cellctl, "incr", f"{self.store}/?timeout=300", "sums", "r1999", "f:n"],
                              capture_output=True, text=True, timeout=400)
        if done.returncode:
            raise AssertionError(done.stderr.strip())
        self.count_sum()

    def add_by_mount(self):
        (self.mount / "sums/r1999/f/n/counter").write_text("1")
        self.count_sum()

    def count_sum(self):
        with self.lock:
            self.sums += 1

    def act(self, *words):
        """One thing happens to the regions; then each that works goes through one more turn."""
        began = time.monotonic()
        if words[0] in ("kill", "server"):
            subprocess.run([LAB, words[0], self.lab, "2"], check=True)
        else:
            self.java.do(*words)
        acted = time.monotonic()
        before = dict(self.done)
        while not self.over and any(n <= before[work] for work, n in self.done.items()):
            if words[0] == "kill":
                return
            time.sleep(0.05)
        print(f"{' '.join(map(str, words))}: {acted - began:.1f} s, all went on after "
              f"{time.monotonic() - acted:.1f} s", flush=True)

    def round(self, first):
        if first:
            self.act("split", "moves", "r0250")
            self.act("merge", "moves", "r0700", "r1200")
        for row in ("r0100", "r1999"):
            self.act("move", "moves", row, self.second)
        self.act("move", "sums", "r1999", self.second)
        for row in ("r0100", "r1999"):
            if int(self.java.do("server", "moves", row)) != self.second:
                raise AssertionError(f"{row} did not move")
        self.act("kill")
        self.act("server")

    def load(self):
        self.java.do("create", "moves", "f", *BORDERS)
        self.java.do("create", "sums", "f")
        while not self.table.is_dir():
            time.sleep(0.1)
        (self.table / ".cells").write_text("".join(cell + "\n" for cell in CELLS))
        self.add()

    def run(self, rounds):
        threads = [threading.Thread(target=self.run_over, args=(work,)) for work in self.workers]
        for t in threads:
            t.start()
        try:
            for n in range(rounds):
                if not self.over:
                    self.round(n == 0)
        finally:
            self.over = True
            for t in threads:
                t.join()
        got = subprocess.run([self.cellctl, "get_counter", self.store, "sums", "r1999", "f:n"], stdout=subprocess.PIPE,
                             text=True).stdout.strip()
        if got != str(self.sums):
            self.failures.append(f"the counter is {got}, {self.sums} sums were acknowledged")
            print(f"FAILED: {self.failures[-1]}")
        print(f"moves: {self.done}")
        return not self.failures


def main():
    build, lab = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    with tempfile.TemporaryDirectory() as tmp:
        mount = pathlib.Path(tmp) / "mnt"
        mount.mkdir()
        java = Java(lab)
        m = Moves(build, lab, mount, java)
        daemon = subprocess.Popen([build / "fs/cellfs", "-f", "-o", "timeout=300", m.store, mount])
        try:
            m.load()
            ok = m.run(rounds)
        finally:
            subprocess.run(["fusermount3", "-u", mount])
            daemon.wait()
            for name in ("moves", "sums"):
                subprocess.run([m.cellctl, "drop", "--force", m.store, name])
            java.close()
        print("moves: every row was there" if ok else "moves: FAILED")
        sys.exit(not ok)


main()
