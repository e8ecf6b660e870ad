#!/usr/bin/env python3
"""A client that wants the daemon's memory.

usage: hostile.py DAEMON MOUNT CAP_MIB [TIMES]

DAEMON (a pid) serves MOUNT with `-o memory=CAP_MIB M` and small caches. Each
attack opens what it can until it is refused, by an errno that it names, and
keeps it. Meanwhile another process puts, reads and lists. When an attack ends,
its memory goes back to the system. At no time may the daemon have grown by more
than the cap and 64 MiB. TIMES multiplies what is tried.
"""
import errno
import os
import resource
import subprocess
import sys
import threading
import time

SLACK = 64
MIB = 1 << 20
LONG = 10 * MIB


def status(word):
    with open(f"/proc/{daemon}/status", encoding="ascii") as f:
        for line in f:
            if line.startswith(word + ":"):
                return int(line.split()[1]) / 1024
    raise SystemExit("the daemon is gone")


def held():
    """What the daemon thinks that open files hold."""
    try:
        with open(f"{mount}/.cellfs/metrics", encoding="ascii") as f:
            for line in f:
                if line.startswith("cellfs_client_bytes "):
                    return int(line.split()[1])
    except OSError as e:
        # What was closed may not be released yet.
        if e.errno != errno.ENFILE:
            raise
        return cap * MIB
    raise SystemExit("the daemon does not say what it holds")


def until_refused(step, tries, refusals):
    """Calls step(i) until an OSError of `refusals`; how often, and whether."""
    for i in range(tries):
        try:
            step(i)
        except OSError as e:
            if e.errno not in refusals:
                raise
            return i, True
    return tries, False


def put(path, data):
    with open(path, "wb") as f:
        f.write(data)


class Watch(threading.Thread):
    """The most memory that the daemon has meanwhile.

    RssAnon: the pages of mapped table files, which VmHWM counts too, are the
    kernel's to take back at any time.
    """

    def __init__(self):
        super().__init__(daemon=True)
        self.most = 0
        self.over = threading.Event()
        self.start()

    def run(self):
        while not self.over.wait(0.002):
            self.most = max(self.most, status("RssAnon"))

    def end(self):
        self.over.set()
        self.join()
        return self.most


class Attack:
    """Descriptors that are held until the end."""

    def __init__(self):
        self.fds = []

    def open(self, path, flags):
        fd = os.open(path, flags)
        self.fds.append(fd)
        return fd

    def close(self):
        for fd in self.fds:
            try:
                os.close(fd)
            except OSError as e:
                # What was never whole is refused at the end.
                if e.errno not in (errno.EINVAL, errno.ENOBUFS,
                                   errno.ENOSPC):
                    raise


def one_value(a, n):
    """Many handles of one long value share it: none is refused."""

    def step(i):
        fd = a.open(f"{mount}/L/long0/f:q", os.O_RDONLY)
        assert len(os.pread(fd, 4096, LONG - 4096)) == 4096

    return until_refused(step, 100 * n, ()), False


def many_values(a, n):
    """Handles of different long values."""

    def step(i):
        a.open(f"{mount}/L/long{i}/f:q", os.O_RDONLY)

    return until_refused(step, LONGS, (errno.ENFILE,)), True


def streams(a, n):
    """Streams that were opened and read a little."""

    def step(i):
        fd = a.open(f"{mount}/S/.cells", os.O_RDONLY)
        assert len(os.read(fd, 4096)) == 4096

    return until_refused(step, 500 * n, (errno.ENFILE, errno.ENOBUFS)), False


def streams_by_row(a, n):
    """Streams of long lines, each read a little."""

    def step(i):
        fd = a.open(f"{mount}/L/long{i % LONGS}/.cells", os.O_RDONLY)
        assert os.read(fd, 4096)

    return until_refused(step, 40 * n, (errno.ENFILE, errno.ENOBUFS)), False


def drafts(a, n):
    """Files being written that are not closed."""
    block = bytes(MIB)

    def step(i):
        fd = a.open(f"{mount}/T/.put/draft{i}/f:q", os.O_WRONLY | os.O_CREAT)
        os.write(fd, block)

    return until_refused(step, 1000 * n, (errno.ENOSPC,)), True


def unfinished_rows(a, n):
    """Lines of rows that do not end."""
    line = b"".join(b"stream\tf:q%d\t1\t%s\n" % (i, b"x" * 1000)
                    for i in range(100))

    def step(i):
        fd = a.open(f"{mount}/T/.cells", os.O_WRONLY)
        for _ in range(20):
            os.write(fd, line)

    return until_refused(step, 1000 * n, (errno.ENOBUFS, errno.ENFILE)), True


def directories(a, n):
    """Directories that are listed a little and not closed."""

    def step(i):
        fd = a.open(f"{mount}/S", os.O_RDONLY)
        with os.scandir(fd) as entries:
            next(entries)

    return until_refused(step, 3000 * n, (errno.ENFILE,)), True


def appenders(a, n):
    """Who appends to a long value and reads it."""

    def step(i):
        fd = a.open(f"{mount}/L/long0/f:q", os.O_RDWR | os.O_APPEND)
        assert len(os.pread(fd, 4096, LONG - 4096)) == 4096

    return until_refused(step, 50 * n, (errno.ENOBUFS,)), False


def far_ends(a, n):
    """Lengths that nobody has memory for."""
    fd = a.open(f"{mount}/T/.put/far/f:q", os.O_WRONLY | os.O_CREAT)
    for call in (lambda: os.ftruncate(fd, 1 << 40),
                 lambda: os.pwrite(fd, b"x", 1 << 40),
                 lambda: os.posix_fallocate(fd, 0, 1 << 40)):
        try:
            call()
        except OSError as e:
            assert e.errno == errno.EFBIG, e
        else:
            raise AssertionError("a terabyte was taken")
    return (3, True), True


OTHER = """
import os, sys
m = sys.argv[1]
with open(m + "/T/.put/other/f:q", "w") as f:
    f.write("served")
assert open(m + "/T/other/f:q").read() == "served"
assert "other" in os.listdir(m + "/T")
assert "other" in open(m + "/T/other/.cells").read()
"""


def run(attack, n, before):
    watch = Watch()
    a = Attack()
    (tries, refused), must = attack(a, n)
    assert refused or not must, f"{attack.__name__}: {tries} and no refusal"
    assert tries, f"{attack.__name__}: nothing was open when it was refused"
    subprocess.run([sys.executable, "-c", OTHER, mount], check=True,
                   close_fds=True)
    a.close()
    for _ in range(6000):
        if held() < MIB and status("RssAnon") - before < SLACK:
            break
        time.sleep(0.01)
    assert held() < MIB, f"{held()} bytes are held for nobody"
    most, left = watch.end() - before, status("RssAnon") - before
    print(f"{attack.__name__:16} {tries:6} open, "
          f"{'refused' if refused else 'none refused':12} "
          f"at most {most:6.0f} MiB more, {left:6.0f} after")
    assert most <= cap + SLACK, f"{most:.0f} MiB are more than {cap} and 64"
    assert left <= SLACK, f"{left:.0f} MiB were not given back"


daemon, mount, cap = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
times = int(sys.argv[4]) if len(sys.argv) > 4 else 1
LONGS = cap * MIB // LONG + 2
resource.setrlimit(resource.RLIMIT_NOFILE,
                   (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
# Of the long values a merge holds several. They are a table that sorts before the
# others, so that no merge of what the attacks write meets them.
for table in "LST":
    os.mkdir(f"{mount}/{table}")
for k in range(500):
    put(f"{mount}/S/.put/{k}/f:q", b"x" * 100)
for k in range(LONGS):
    put(f"{mount}/L/.put/long{k}/f:q", os.urandom(LONG))
with open(f"{mount}/.cellfs/flush", "w", encoding="ascii") as flush:
    flush.write("all")
# What the store itself takes is bounded by its own options.
with open(f"{mount}/.cellfs/compact", "w", encoding="ascii") as compact:
    compact.write("all")
start = status("RssAnon")
for what in (one_value, many_values, streams, streams_by_row, drafts,
             unfinished_rows, directories, appenders, far_ends):
    run(what, times, start)
