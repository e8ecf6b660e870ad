"""Random operations of the whole tree, compared with a model in memory.

randomtree.py [--seed N] [--steps N] [--last N] CELLFS DIR

Mounts a store in DIR and does steps of all kinds over few tables, rows, families,
qualifiers and timestamps, so that they meet: files are made, written, appended
to, cut, replaced by a renamed one and removed by each of their names; directories
are made, removed and renamed; rows are put and deleted by lines of .cells and by
.put; counters are added to, snapshots taken, schemas written. Each step's result,
an errno or success, is the model's, and so is what the column then shows. From
time to time all is read, as files and as streams and through views; the store is
flushed, compacted, unmounted and mounted again; and the daemon is killed.

The model is the README's: a table is its cells, and the directories that are in
memory. What it cannot know, the timestamp that the store gives, is read from the
listing, and must be newer than what was there.

A failure prints the last steps; the same seed does the same.
"""
import argparse
import collections
import ctypes
import errno
import os
import random
import signal
import subprocess
import sys
import time

TABLES = ["T", "ns:U"]
ROWS = ["/x", "a b", "r1", "r2"]
FAMILIES = ["f", "g", "v"]
QUALIFIERS = ["", "p", "q"]
COUNTER = "n"  # the qualifier of counters, in family f
TIMES = [100, 200, 300]
MODES = [0o755, 0o750, 0o700]
VERSIONS_MANY = 100000
TEMPORARY = "."  # the name of what is on the way to another
NOREPLACE = 1

libc = ctypes.CDLL(None, use_errno=True)


class Wrong(Exception):
    """The mount is not as the model says."""


def escape(text, plain=""):
    """A key's bytes as the tree spells them; '/' is literal in .cells."""
    out = ""
    for i, c in enumerate(text):
        bad = c < " " or c in "\x7f%" or (c == "/" and c not in plain) or \
            (i == 0 and c in ".-")
        out += f"%{ord(c):02X}" if bad else c
    return out or "%"


def escape_value(value):
    return "".join(chr(c) if 0x20 <= c < 0x7f and c != 0x25 else f"%{c:02X}"
                   for c in value)


def alias(family, qualifier):
    return family + ":" + (escape(qualifier) if qualifier else "")


class Table:
    """Cells, and directories in memory: path -> implied."""

    def __init__(self):
        self.cells = {}  # (row, family, qualifier) -> {ts: value}
        self.dirs = {}   # (row,), (row, family), (row, family, qualifier)
        self.snapshots = {}
        self.mode = 0o755
        self.versions = {"f": VERSIONS_MANY, "g": VERSIONS_MANY, "v": 2}

    def holds(self, path):
        return any(versions and column[:len(path)] == path
                   for column, versions in self.cells.items())

    def exists(self, path):
        return path in self.dirs or self.holds(path)

    def beneath(self, path):
        return [d for d in self.dirs if len(d) > len(path) and
                d[:len(path)] == path]

    def keep(self, path):
        """The directory is in memory, with those above it."""
        for n in range(1, len(path) + 1):
            self.dirs.setdefault(path[:n], False)

    def emptied(self, column, alias):
        """As a file of the column is removed; what F:Q leaves goes by itself."""
        for n in (1, 2, 3):
            self.dirs.setdefault(column[:n], alias and n > 1)

    def settle(self, column):
        """Directories that a file has filled leave memory."""
        for path in (column, column[:2], column[:1]):
            if path in self.dirs:
                if self.beneath(path):
                    break
                if self.holds(path):
                    del self.dirs[path]

    def gone(self, path):
        """Something left the directory, which was in memory for that."""
        while path in self.dirs and not self.beneath(path) and \
                self.holds(path):
            del self.dirs[path]
            path = path[:-1]

    def put(self, column, ts, value):
        versions = self.cells.setdefault(column, {})
        versions[ts] = value
        for old in sorted(versions, reverse=True)[self.versions[column[1]]:]:
            del versions[old]

    def newest(self, column):
        versions = self.cells.get(column)
        return max(versions) if versions else None

    def value(self, column):
        ts = self.newest(column)
        return None if ts is None else self.cells[column][ts]

    def rows(self):
        return sorted({d[0] for d in self.dirs} |
                      {c[0] for c, v in self.cells.items() if v})

    def names(self, path):
        """The directories in a row or in a family."""
        n = len(path)
        return sorted({d[n] for d in self.dirs
                       if len(d) > n and d[:n] == path} |
                      {c[n] for c, v in self.cells.items()
                       if v and c[:n] == path})

    def lines(self, path=(), cells=None):
        """What .cells of that directory reads."""
        return "".join(
            f"{escape(row, '/')}\t{family}:{escape(qualifier, '/')}\t{ts}\t"
            f"{escape_value(versions[ts])}\n"
            for (row, family, qualifier), versions in sorted(
                (self.cells if cells is None else cells).items())
            if (row, family, qualifier)[:len(path)] == path
            for ts in sorted(versions, reverse=True))


class Mount:
    def __init__(self, cellfs, where):
        self.cellfs, self.where, self.at = cellfs, where, where + "/mnt"
        self.log = where + "/log"
        self.daemon = None

    def start(self):
        os.makedirs(self.at, exist_ok=True)
        with open(self.log, "w") as log:
            self.daemon = subprocess.Popen(
                [self.cellfs, self.where + "/store", self.at, "-f"],
                stdout=log, stderr=log)
        for _ in range(6000):
            if os.path.ismount(self.at):
                return
            if self.daemon.poll() is not None:
                break
            time.sleep(0.005)
        raise Wrong("no mount: " + self.said())

    def said(self):
        with open(self.log) as f:
            return f.read()

    def end(self):
        for _ in range(1000):
            if not subprocess.run(["fusermount3", "-q", "-u",
                                   self.at]).returncode:
                break
            time.sleep(0.01)
        code = self.daemon.wait(60)
        self.daemon = None
        if code or self.said():
            raise Wrong(f"the daemon ended with {code}: {self.said()}")

    def kill(self):
        self.daemon.send_signal(signal.SIGKILL)
        self.daemon.wait()
        self.daemon = None
        subprocess.run(["fusermount3", "-q", "-u", "-z", self.at])


class Run:
    def __init__(self, mount, seed, last):
        self.mount, self.seed = mount, seed
        self.random = random.Random(seed)
        self.tables = {}
        self.step = 0
        self.last = collections.deque(maxlen=last)
        self.counts = collections.Counter()
        self.kinds = [(getattr(self, n), w) for n, w in KINDS.items()]

    # -- choices, names, calls ------------------------------------------------

    def one(self, choices):
        return self.random.choice(choices)

    def chance(self, percent):
        return self.random.randrange(100) < percent

    def table(self):
        """One that exists, mostly."""
        return self.one(sorted(self.tables) or TABLES)

    def column(self, only=None):
        """Any, but mostly one that is there."""
        column = None
        for _ in range(3):
            column = (self.one(ROWS), self.one(only or FAMILIES),
                      self.one(QUALIFIERS))
            if any(t.cells.get(column) for t in self.tables.values()):
                break
        return column

    def content(self):
        size = self.one([0, 1, 5, 5, 20, 20, 100, 100, 5000])
        if self.chance(1):
            size = 200000
        return bytes(self.random.choice(b"abc%\n\xff") for _ in range(min(
            size, 100))) + b"z" * max(0, size - 100)

    def path(self, table, *parts):
        return "/".join((self.mount.at, table) + parts)

    def directory(self, table, path):
        return self.path(table, *(escape(p) if i != 1 else p
                                  for i, p in enumerate(path)))

    def note(self, *what):
        self.last.append(f"{self.step}: " + " ".join(map(str, what)))

    def expect(self, want, act, *args):
        """Does it; the result must be that errno, 0 for success."""
        try:
            act(*args)
            got = 0
        except OSError as e:
            got = e.errno
        if got != want:
            raise Wrong(f"{act.__name__}{short(args)}: {name_of(got)}, "
                        f"expected {name_of(want)}")
        self.counts[name_of(want)] += 1
        return not got

    def same(self, got, want, what):
        if got == want:
            return
        if isinstance(got, str):
            # Of many lines, those that are in one of them only.
            one, two = got.splitlines(), want.splitlines()
            got = [line for line in one if line not in two] or one
            want = [line for line in two if line not in one] or two
        raise Wrong(f"{what}: {short(got)}, expected {short(want)}")

    # -- a file of a column: its name, and what is known of it -----------------

    def file(self, only=None):
        """A table, a column, a name of it, and the version that it names."""
        table = self.table()
        row, family, qualifier = column = self.column(only)
        kind = self.one(["alias", "alias", "latest", "version", "version"])
        ts = self.one(TIMES)
        known = self.tables.get(table)
        if kind == "version" and known and known.cells.get(column) and \
           self.chance(50):
            ts = self.one(sorted(known.cells[column]))
        if kind == "alias":
            path = self.directory(table, (row,)) + "/" + alias(family,
                                                               qualifier)
        else:
            path = self.directory(table, column) + "/" + (
                "latest" if kind == "latest" else str(ts))
        return table, column, kind, ts, path

    def parent(self, table, column, kind):
        """Is the directory there that the name is in?"""
        known = self.tables.get(table)
        return known and known.exists(column[:1] if kind == "alias"
                                      else column)

    def present(self, table, column, kind, ts):
        versions = self.tables[table].cells.get(column) if \
            table in self.tables else None
        return bool(versions) and (kind != "version" or ts in versions)

    def put(self, table, column, kind, ts, value):
        """The model's part of a put, and the look at what it did."""
        known = self.tables[table]
        if kind != "version":
            ts = self.given(table, column)
        known.put(column, ts, value)
        known.settle(column)
        self.look(table, column)

    def given(self, table, column):
        """The timestamp of the version that was just put."""
        old = self.tables[table].cells.get(column) or {}
        names = os.listdir(self.directory(table, column))
        if not names:
            raise Wrong("the column is empty")
        ts = int(names[0])
        if old and ts <= max(old) or ts > time.time() * 1000 + 10000:
            raise Wrong(f"the new version is {ts}, of {short(sorted(old))}")
        return ts

    def absent(self, file):
        """A file that was renamed a moment ago may seem to be there for another."""
        for _ in range(500):
            if not os.path.lexists(file):
                break
            time.sleep(0.01)
        self.expect(errno.ENOENT, os.stat, file)

    def look(self, table, column):
        """The column is as the model has it, by each of its names."""
        known = self.tables[table]
        versions = known.cells.get(column) or {}
        path = self.directory(table, column)
        if not known.exists(column):
            self.expect(errno.ENOENT, os.stat, path)
            return
        want = [str(ts) for ts in sorted(versions, reverse=True)]
        self.same(os.listdir(path), want, "the listing of " + path)
        name = self.directory(table, column[:1]) + "/" + alias(*column[1:])
        for file in (path + "/latest", name):
            if versions:
                self.same(read(file), versions[max(versions)], file)
            else:
                self.absent(file)
        if versions:
            ts = self.one(sorted(versions))
            file = f"{path}/{ts}"
            self.same(read(file), versions[ts], file)
            st = os.stat(file)
            self.same((st.st_size, st.st_mtime_ns // 1000000),
                      (len(versions[ts]), ts), "stat of " + file)

    # -- steps: files ---------------------------------------------------------

    def do_write(self):
        table, column, kind, ts, path = self.file()
        value = self.content()
        excl = self.chance(20)
        self.note("write", path, len(value), "O_EXCL" * excl)
        there = self.present(table, column, kind, ts)
        want = errno.EEXIST if there and excl else 0
        if not self.parent(table, column, kind):
            want = errno.ENOENT
        flags = os.O_EXCL if excl else os.O_TRUNC
        if self.expect(want, write, path, value, os.O_CREAT | flags):
            self.put(table, column, kind, ts, value)

    def do_append(self):
        table, column, kind, ts, path = self.file()
        if column[1] == "v" and kind == "version":
            return
        value = self.content()
        self.note("append", path, len(value))
        want = 0 if self.parent(table, column, kind) else errno.ENOENT
        if not self.expect(want, write, path, value, os.O_CREAT | os.O_APPEND):
            return
        known = self.tables[table]
        old = known.cells.get(column) or {}
        before = old.get(ts, b"") if kind == "version" else \
            known.value(column) or b""
        if not value and (kind != "version" or ts in old) and old:
            # Nothing was written.
            self.look(table, column)
            return
        self.put(table, column, kind, ts, before + value)

    def do_truncate(self):
        table, column, kind, ts, path = self.file()
        size = self.one([0, 1, 3, 200])
        self.note("truncate", path, size)
        there = self.present(table, column, kind, ts)
        if self.expect(0 if there else errno.ENOENT, os.truncate, path, size):
            known = self.tables[table]
            old = known.cells[column][ts] if kind == "version" else \
                known.value(column)
            if len(old) == size:
                if kind != "version":
                    names = os.listdir(self.directory(table, column))
                    if len(names) == len(known.cells[column]) and \
                       int(names[0]) in known.cells[column]:
                        return
                    ts = self.given(table, column)
                known.put(column, ts, old)
                known.settle(column)
                self.look(table, column)
                return
            self.put(table, column, kind, ts, old[:size].ljust(size, b"\0"))

    def do_far(self):
        table, column, kind, ts, path = self.file()
        self.note("truncate far", path)
        there = self.present(table, column, kind, ts)
        self.expect(errno.EFBIG if there else errno.ENOENT, os.truncate, path,
                    1 << 40)
        if table in self.tables:
            self.look(table, column)

    def do_unlink(self):
        table, column, kind, ts, path = self.file()
        if column[1] == "v" and kind != "alias":
            return
        self.note("unlink", path)
        there = self.present(table, column, kind, ts)
        if not self.expect(0 if there else errno.ENOENT, os.unlink, path):
            return
        known = self.tables[table]
        known.emptied(column, kind == "alias")
        if kind == "alias":
            known.cells[column] = {}
        else:
            del known.cells[column][ts if kind == "version" else
                                    known.newest(column)]
        known.settle(column)
        self.look(table, column)

    def do_replace(self):
        """What editors and rsync do: a temporary file is renamed."""
        table, column, kind, ts, path = self.file()
        value = self.content()
        noreplace = self.chance(20)
        where = column[:1] if self.chance(50) else column
        known = self.tables.get(table)
        temp = self.directory(table, where) + "/.tmp"
        self.note("replace", path, "by", temp, len(value),
                  "NOREPLACE" * noreplace)
        there = known and known.exists(where)
        if not self.expect(0 if there else errno.ENOENT, write, temp, value,
                           os.O_CREAT):
            return
        # Its directory is in memory with it.
        known.keep(where + (TEMPORARY,))
        want = 0
        if not self.parent(table, column, kind):
            want = errno.ENOENT
        elif noreplace and self.present(table, column, kind, ts):
            want = errno.EEXIST
        done = self.expect(want, rename, temp, path, noreplace and NOREPLACE)
        if not done:
            os.unlink(temp)
        else:
            known.put(column, self.given(table, column) if kind != "version"
                      else ts, value)
            known.settle(column)
        del known.dirs[where + (TEMPORARY,)]
        known.gone(where)
        self.look(table, column)

    def do_rename(self):
        """A cell file becomes another of its row."""
        table, column, kind, ts, path = self.file(["f", "g"])
        kind = "alias" if kind == "alias" else "version"
        other = column[:1] + self.column(["f", "g"])[1:]
        if self.chance(10):
            other = self.column(["f", "g"])
        to = self.one(TIMES)
        noreplace = self.chance(20)
        if kind == "version":
            path = self.directory(table, column) + f"/{ts}"
            target = self.directory(table, other) + f"/{to}"
        else:
            target = self.directory(table, other[:1]) + "/" + alias(*other[1:])
        self.note("rename", path, target, "NOREPLACE" * noreplace)
        want = self.rename_errno(table, (column, ts), (other, to), kind,
                                 noreplace)
        # Of a source that has just gone, of which the kernel has not heard, it
        # says first that the target is there.
        if want == errno.ENOENT and noreplace:
            return
        if not self.expect(want, rename, path, target,
                           noreplace and NOREPLACE):
            return
        if kind == "version":
            self.renamed_version(table, column, ts, other, to)
        elif column != other:
            self.renamed_column(table, column, other)
        self.look(table, column)
        self.look(table, other)

    def rename_errno(self, table, one, two, kind, noreplace):
        (column, ts), (other, to) = one, two
        if not self.parent(table, column, kind) or \
           not self.parent(table, other, kind) or \
           not self.present(table, column, kind, ts):
            return errno.ENOENT
        if noreplace and self.present(table, other, kind, to):
            return errno.EEXIST
        if column[0] != other[0]:
            return errno.EXDEV
        return 0

    def renamed_version(self, table, column, ts, other, to):
        if (column, ts) == (other, to):
            return
        known = self.tables[table]
        value = known.cells[column].pop(ts)
        known.emptied(column, False)
        known.put(other, to, value)
        known.settle(other)
        known.settle(column)

    def renamed_column(self, table, column, other):
        known = self.tables[table]
        moved = dict(known.cells[column])
        old = known.cells.get(other) or {}
        newest = max(moved)
        known.cells[column] = {}
        known.emptied(column, True)
        value = moved[newest]
        if old and max(old) >= newest:
            # It is to be the newest there, under a new timestamp.
            del moved[newest]
            ts = int(os.listdir(self.directory(table, other))[0])
            if ts <= max(old):
                raise Wrong("what was moved there is not the newest")
            moved[ts] = value
        known.cells[other] = old | moved
        known.settle(other)
        known.settle(column)

    def do_counter(self):
        table = self.table()
        known = self.tables.get(table)
        column = (self.one(ROWS), "f", COUNTER)
        path = self.directory(table, column) + "/counter"
        by = self.random.randrange(-1000, 1000)
        self.note("add", by, path)
        there = known and known.exists(column)
        if not self.expect(0 if there else errno.ENOENT, write, path,
                           b"%d\n" % by, 0):
            return
        old = int.from_bytes(known.value(column) or bytes(8), "big",
                             signed=True)
        self.same(read(path), b"%d\n" % (old + by), path)
        value = (old + by).to_bytes(8, "big", signed=True)
        names = os.listdir(self.directory(table, column))
        ts = int(names[0])
        known.put(column, ts, value)
        known.settle(column)
        self.look(table, column)

    # -- steps: directories ---------------------------------------------------

    def some_directory(self):
        column = self.column()
        if self.chance(15):
            column = (column[0], "f", COUNTER)
        return self.table(), column[:self.random.randrange(1, 4)]

    def do_mkdir(self):
        table, path = self.some_directory()
        known = self.tables.get(table)
        at = self.directory(table, path)
        self.note("mkdir", at)
        want = 0
        if not known or len(path) > 1 and not known.exists(path[:-1]):
            want = errno.ENOENT
        elif known.exists(path):
            want = errno.EEXIST
        if self.expect(want, os.mkdir, at):
            known.keep(path)

    def do_rmdir(self):
        table, path = self.some_directory()
        known = self.tables.get(table)
        at = self.directory(table, path)
        self.note("rmdir", at)
        want = 0
        if not known or not known.exists(path):
            want = errno.ENOENT
        elif known.holds(path) or \
                any(not known.dirs[d] for d in known.beneath(path)):
            want = errno.ENOTEMPTY
        if self.expect(want, os.rmdir, at):
            for gone in known.beneath(path) + [path]:
                known.dirs.pop(gone, None)
            known.gone(path[:-1])

    def do_rename_directory(self):
        table, path = self.some_directory()
        known = self.tables.get(table)
        to = self.column()[:len(path)]
        if COUNTER in path[2:]:
            return
        self.note("rename", self.directory(table, path),
                  self.directory(table, to))
        want = 0
        if not known or not known.exists(path) or \
           len(to) > 1 and not known.exists(to[:-1]):
            want = errno.ENOENT
        elif path == to:
            want = 0
        elif known.holds(path) or known.beneath(path):
            want = errno.EXDEV
        elif known.holds(to) or known.beneath(to):
            want = errno.ENOTEMPTY
        if self.expect(want, os.rename, self.directory(table, path),
                       self.directory(table, to)) and path != to:
            del known.dirs[path]
            known.keep(to)
            known.dirs[to] = False
            known.gone(path[:-1])

    # -- steps: rows ----------------------------------------------------------

    def do_put(self):
        """.put has every row."""
        table = self.table()
        column = self.column()
        value = self.content()
        path = self.path(table, ".put", escape(column[0]), alias(*column[1:]))
        self.note("write", path, len(value))
        there = table in self.tables
        if self.expect(0 if there else errno.ENOENT, write, path, value,
                       os.O_CREAT | os.O_TRUNC):
            self.put(table, column, "alias", 0, value)

    def do_lines(self):
        """Lines of puts of one row, one change."""
        table = self.table()
        known = self.tables.get(table)
        row = self.one(ROWS)
        cells = {(row,) + self.column()[1:]: (self.one(TIMES), self.content())
                 for _ in range(self.random.randrange(1, 5))}
        text = "".join(f"{escape(row, '/')}\t{f}:{escape(q, '/')}\t{ts}\t"
                       f"{escape_value(value)}\n"
                       for (_, f, q), (ts, value) in cells.items())
        path = self.path(table, ".cells")
        self.note("lines", path, short(text))
        if not self.expect(0 if known else errno.ENOENT, write, path,
                           text.encode(), 0):
            return
        for column, (ts, value) in cells.items():
            known.put(column, ts, value)
        for column in cells:
            self.look(table, column)

    def do_delete_line(self):
        table = self.table()
        known = self.tables.get(table)
        row, family, qualifier = column = self.column()
        what = self.one(["delete", "delete-column", "delete-family",
                         "delete-row"])
        ts = self.one(TIMES)
        if what == "delete" and family == "v":
            return
        name = {"delete-family": family + ":", "delete-row": ""}.get(
            what, f"{family}:{escape(qualifier, '/')}")
        line = (f"{escape(row, '/')}\t{name}\t{ts if what == 'delete' else ''}"
                f"\t\t{what}\n")
        path = self.path(table, ".cells")
        self.note("line", path, short(line))
        if not known:
            self.expect(errno.ENOENT, write, path, line.encode(), 0)
            return
        self.not_before(known)
        self.expect(0, write, path, line.encode(), 0)
        if what == "delete":
            known.cells.get(column, {}).pop(ts, None)
        depth = {"delete-row": 1, "delete-family": 2, "delete-column": 3}
        for c in list(known.cells):
            if what != "delete" and c[:depth[what]] == column[:depth[what]]:
                known.cells[c] = {}
        self.look(table, column)

    def not_before(self, known):
        """Until the clock is at the newest timestamp that the store has given."""
        newest = max((max(v) for v in known.cells.values() if v), default=0)
        while time.time() * 1000 <= newest:
            time.sleep(0.001)

    def do_bad_line(self):
        table = self.table()
        path = self.path(table, ".cells")
        self.note("a bad line", path)
        there = table in self.tables
        self.expect(errno.EINVAL if there else errno.ENOENT, write, path,
                    b"r1\tf:q\tnone\tx\n", 0)
        if there:
            self.look(table, ("r1", "f", "q"))

    # -- steps: tables --------------------------------------------------------

    def schema(self, known):
        return "families open\n" + "".join(
            f"family {f}\n\tversions {n}\n" for f, n in known.versions.items())

    def do_table(self):
        table = self.one(TABLES)
        self.note("mkdir", table)
        there = table in self.tables
        if self.expect(errno.EEXIST if there else 0, os.mkdir,
                       self.path(table)):
            known = self.tables[table] = Table()
            write(self.path(table, ".schema"), self.schema(known).encode(),
                  os.O_TRUNC)

    def do_drop(self):
        table = self.one(TABLES)
        known = self.tables.get(table)
        self.note("rmdir", table)
        want = 0
        if not known:
            want = errno.ENOENT
        elif known.rows() or known.snapshots:
            want = errno.ENOTEMPTY
        if self.expect(want, os.rmdir, self.path(table)):
            del self.tables[table]

    def do_empty(self):
        """All rows go, by the hands of rm -r."""
        table = self.table()
        if table not in self.tables or not self.chance(20):
            return
        self.note("rm -r", table + "/*")
        known = self.tables[table]
        for name in os.listdir(self.path(table)):
            if name != ".schema":
                remove_tree(self.path(table, name))
        known.cells.clear()
        known.dirs.clear()
        self.same(os.listdir(self.path(table)), [".schema"], table)

    def do_rename_table(self):
        one, two = self.random.sample(TABLES, 2)
        self.note("rename", one, two)
        want = 0
        if one not in self.tables:
            want = errno.ENOENT
        elif two in self.tables:
            want = errno.ENOTEMPTY
        if self.expect(want, os.rename, self.path(one), self.path(two)):
            self.tables[two] = self.tables.pop(one)

    def do_chmod(self):
        table = self.table()
        mode = self.one(MODES)
        self.note("chmod", oct(mode), table)
        there = table in self.tables
        if self.expect(0 if there else errno.ENOENT, os.chmod,
                       self.path(table), mode):
            self.tables[table].mode = mode
            self.same(os.stat(self.path(table)).st_mode & 0o777, mode, table)

    def do_versions(self):
        """Family v keeps another number of versions."""
        table = self.table()
        known = self.tables.get(table)
        # A snapshot may hold versions that come back with a greater number.
        if not known or known.snapshots or not self.chance(30):
            return
        number = self.one([1, 2, 3])
        self.note("versions", number, table)
        # What is hidden leaves the disk, or it could come back.
        write(self.path(".cellfs", "compact"), table.encode() + b"\n", 0)
        known.versions["v"] = number
        write(self.path(table, ".schema"), self.schema(known).encode(),
              os.O_TRUNC)
        for column, versions in known.cells.items():
            if column[1] == "v":
                for old in sorted(versions, reverse=True)[number:]:
                    del versions[old]
        # And what this number hides.
        write(self.path(".cellfs", "compact"), table.encode() + b"\n", 0)

    def do_snapshot(self):
        table = self.table()
        known = self.tables.get(table)
        name = self.one(["s1", "s2"])
        path = self.path(table, ".snapshot", name)
        self.note("mkdir", path)
        want = 0
        if not known:
            want = errno.ENOENT
        elif name in known.snapshots:
            want = errno.EEXIST
        if self.expect(want, os.mkdir, path):
            known.snapshots[name] = {c: dict(v)
                                     for c, v in known.cells.items()}

    def do_drop_snapshot(self):
        table = self.table()
        known = self.tables.get(table)
        name = self.one(["s1", "s2"])
        path = self.path(table, ".snapshot", name)
        self.note("rmdir", path)
        there = known and name in known.snapshots
        if there:
            self.same(read(path + "/.cells").decode(),
                      known.lines((), known.snapshots[name]), path)
        if self.expect(0 if there else errno.ENOENT, os.rmdir, path):
            del known.snapshots[name]

    # -- steps: what is read, and the mount -----------------------------------

    def do_read(self):
        table, column, kind, ts, path = self.file()
        self.note("read", path)
        if self.expect(0 if self.present(table, column, kind, ts)
                       else errno.ENOENT, os.stat, path):
            known = self.tables[table]
            want = known.cells[column][ts] if kind == "version" else \
                known.value(column)
            self.same(read(path), want, path)

    def do_view(self):
        table = self.table()
        known = self.tables.get(table)
        view = self.one([".prefix/r", ".first/1", ".last/2", ".after/a b",
                         ".range/a..r2", ".at/now"])
        at = self.path(table, view)
        self.note("list", at)
        if not known:
            self.expect(errno.ENOENT, os.listdir, at)
            return
        rows = sorted({c[0] for c, v in known.cells.items() if v})
        want = {".prefix/r": [r for r in rows if r.startswith("r")],
                ".first/1": rows[:1], ".last/2": rows[:-3:-1],
                ".after/a b": [r for r in rows if r > "a b"],
                ".range/a..r2": [r for r in rows if "a" <= r < "r2"],
                ".at/now": rows}[view]
        self.same(os.listdir(at), [escape(r) for r in want], at)
        column = self.column()
        if view == ".at/now" and known.cells.get(column):
            file = "/".join((at, escape(column[0]), column[1],
                             escape(column[2])))
            self.same(read(file), known.value(column), file)
        self.expect(errno.EROFS, os.mkdir, at + "/r9")

    def do_stream(self):
        table = self.table()
        known = self.tables.get(table)
        path = self.column()[:self.random.randrange(0, 3)]
        at = self.directory(table, path) + "/.cells"
        self.note("read", at)
        if self.expect(0 if known and (not path or known.exists(path))
                       else errno.ENOENT, os.stat, at):
            self.same(read(at).decode(), known.lines(path), at)

    def do_control(self):
        file = self.one(["flush", "flush", "sync", "compact"])
        table = self.table()
        self.note(file, table)
        want = errno.EINVAL if file != "sync" and table not in self.tables \
            else 0
        self.expect(want, write, self.path(".cellfs", file),
                    table.encode() + b"\n", 0)

    def check(self):
        """All that is there."""
        self.same(sorted(os.listdir(self.mount.at)), sorted(self.tables),
                  "the tables")
        for table, known in self.tables.items():
            at = self.path(table)
            self.same(os.listdir(at),
                      [".schema"] + [escape(r) for r in known.rows()], at)
            self.same(os.stat(at).st_mode & 0o777, known.mode, at)
            self.same(read(at + "/.cells").decode(), known.lines(), at)
            self.same(os.listdir(at + "/.snapshot"), sorted(known.snapshots),
                      at + "/.snapshot")
            for name, cells in known.snapshots.items():
                self.same(read(f"{at}/.snapshot/{name}/.cells").decode(),
                          known.lines((), cells), name)
            for row in known.rows():
                for path in [(row,)] + [(row, f)
                                        for f in known.names((row,))]:
                    names = known.names(path)
                    if len(path) == 2:
                        names = [escape(q) for q in names]
                    at = self.directory(table, path)
                    self.same(os.listdir(at), names, at)
                    if len(path) == 2:
                        for q in known.names(path):
                            self.look(table, path + (q,))

    def remount(self, kill):
        self.note("kill" if kill else "unmount")
        if kill:
            self.mount.kill()
        else:
            self.mount.end()
        for known in self.tables.values():
            known.dirs.clear()
        self.mount.start()
        self.check()

    def go(self, steps):
        acts, weights = zip(*self.kinds)
        self.do_table()
        for self.step in range(1, steps + 1):
            self.random.choices(acts, weights)[0]()
            if self.step % 250 == 0:
                self.note("check")
                self.check()
            if self.step % 1000 == 0:
                self.remount(kill=self.step % 3000 == 0)
            if self.step % 100000 == 0:
                print(f"{self.step} steps", flush=True)


KINDS = {"do_write": 20, "do_append": 8, "do_truncate": 5, "do_far": 1,
         "do_unlink": 12, "do_replace": 8, "do_rename": 12, "do_counter": 3,
         "do_mkdir": 14, "do_rmdir": 10, "do_rename_directory": 6,
         "do_put": 5, "do_lines": 4, "do_delete_line": 5, "do_bad_line": 1,
         "do_table": 2, "do_drop": 1, "do_empty": 1, "do_rename_table": 1,
         "do_chmod": 1, "do_versions": 1, "do_snapshot": 1,
         "do_drop_snapshot": 2, "do_read": 10, "do_view": 4, "do_stream": 3,
         "do_control": 2}


def name_of(error):
    return errno.errorcode.get(error, "ok")


def short(what):
    text = repr(what)
    return text if len(text) < 600 else text[:600] + "..."


def read(path):
    fd = os.open(path, os.O_RDONLY)
    try:
        parts = []
        while part := os.read(fd, 1 << 20):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(fd)


def write(path, value, flags):
    fd = os.open(path, os.O_WRONLY | flags, 0o644)
    try:
        if value:
            os.write(fd, value)
        elif flags & (os.O_TRUNC | os.O_EXCL | os.O_APPEND | os.O_CREAT):
            # An empty value is put behind the close otherwise.
            os.fsync(fd)
    finally:
        os.close(fd)


def rename(old, new, flags):
    if libc.renameat2(-100, old.encode(), -100, new.encode(), int(flags)):
        raise OSError(ctypes.get_errno(), new)


def remove_tree(path):
    for name in os.listdir(path):
        if os.path.isdir(path + "/" + name):
            remove_tree(path + "/" + name)
        else:
            os.unlink(path + "/" + name)
    os.rmdir(path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int,
                        default=int.from_bytes(os.urandom(4), "big"))
    parser.add_argument("--steps", type=int, default=10000)
    parser.add_argument("--last", type=int, default=40,
                        help="how many steps a failure prints")
    parser.add_argument("cellfs")
    parser.add_argument("dir")
    args = parser.parse_args()
    mount = Mount(args.cellfs, args.dir)
    run = Run(mount, args.seed, args.last)
    began = time.monotonic()
    try:
        mount.start()
        run.go(args.steps)
        mount.end()
    except (Wrong, OSError, ValueError) as e:
        print("\n".join(run.last))
        print(f"randomtree.py --seed {args.seed}, step {run.step}: {e}")
        if mount.daemon:
            mount.kill()
            print(mount.said())
        sys.exit(1)
    took = time.monotonic() - began
    print(f"randomtree.py --seed {args.seed}: {args.steps} steps in "
          f"{took:.1f} s, {dict(run.counts)}")


if __name__ == "__main__":
    main()
