"""What each call answers for each kind of node, to whom, in which mount.

errnos.py [--write] [--only WORD] CELLFS DIR

Mounts a store in DIR four times (plainly, -o ro, -o nodelete, -o strict_attr) as
the user OWNER, asks every call for every node of the list below as OWNER, as
OTHER, who is nobody to the store, and as root, and compares what came back with
errnos.txt beside this file. It takes root to be three users.

errnos.txt has a block for each node, or for some that answer alike: their names,
then lines of one answer for each column (COLUMNS) and the calls that answer so.
An answer is

	ok	success, and what is stored, listed or kept in memory is as before
	ok+	success, and something of that has changed
	EPERM	that error; with a + the call has changed something nonetheless,
		with a c: it came from close(2) only
	-	not asked: the file could not be opened for it, or the call can
		only answer as before (concerns()); as root not what the owner has
		changed, since each change takes a repair

Every kind of node that fs/tree/kind.c has must have a node here, every word of
fs/tree/fixed.c, every file of .cellfs and of .info. What an answer should be
is not for this program to say: --write takes the mount's word, and whoever
commits that has looked at each line of the difference.
"""
import argparse
import atexit
import ctypes
import errno
import fcntl
import os
import re
import shutil
import subprocess
import sys
import termios
import time

HERE = os.path.dirname(os.path.abspath(__file__))
EXPECTED = os.path.join(HERE, "errnos.txt")
TREE = os.path.join(HERE, "../../fs/tree")
OWNER, OTHER = 65534, 65533
FAR = 1 << 40
LONG = "k" * 300
PIECE, REST = "k" * 250 + "%+", "k" * 50
AT_FDCWD, NOREPLACE, EXCHANGE = -100, 1, 2
MAP_SHARED, MAP_PRIVATE, PROT_READ = 1, 2, 1

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int,
                      ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_long,
                           ctypes.c_long]

# Node: its kind, and its path below the mount. {T} is a table of the case's own,
# {S} one that nobody changes, which the snapshot "w" of the mount shows.
NODES = {
    "root": ("ROOT", "."),
    "table": ("TABLE", "{T}"),
    "table absent": ("TABLE", "{T}x"),
    "table badly named": ("SCRATCH", "{T}!"),
    "schema": ("SCHEMA", "{T}/.schema"),
    "row piece": ("ROW_PIECE", "{T}/" + PIECE),
    "row long": ("ROW", "{T}/" + PIECE + "/" + REST),
    "row": ("ROW", "{T}/r"),
    "row empty": ("ROW", "{T}/e"),
    "row absent": ("ROW", "{T}/none"),
    "row misspelled": ("ROW", "{T}/%41"),
    "row too long": ("ROW", "{T}/" + "n" * 256),
    "family": ("FAMILY", "{T}/r/f"),
    "family empty": ("FAMILY", "{T}/e/f"),
    "family absent": ("FAMILY", "{T}/r/g"),
    "column piece": ("COLUMN_PIECE", "{T}/r/f/" + PIECE),
    "column long": ("COLUMN", "{T}/r/f/" + PIECE + "/" + REST),
    "column": ("COLUMN", "{T}/r/f/q"),
    "column empty": ("COLUMN", "{T}/e/f/q"),
    "column absent": ("COLUMN", "{T}/r/f/none"),
    "version": ("VERSION", "{T}/r/f/q/200"),
    "version only": ("VERSION", "{T}/r/f/solo/50"),
    "version absent": ("VERSION", "{T}/r/f/q/300"),
    "version misspelled": ("SCRATCH", "{T}/r/f/q/0200"),
    "latest": ("LATEST", "{T}/r/f/q/latest"),
    "latest absent": ("LATEST", "{T}/e/f/q/latest"),
    "alias": ("ALIAS", "{T}/r/f:q"),
    "alias absent": ("ALIAS", "{T}/r/f:none"),
    "alias of no family": ("ALIAS", "{T}/r/g:q"),
    "past": ("PAST", "{T}/r/f/q/@-1"),
    "past absent": ("PAST", "{T}/r/f/q/@-9"),
    "past of a time": ("PAST", "{T}/r/f/q/@150"),
    "counter": ("COUNTER", "{T}/r/f/n/counter"),
    "counter of text": ("COUNTER", "{T}/r/f/q/counter"),
    "cells of a table": ("CELLS", "{T}/.cells"),
    "cells of a row": ("CELLS", "{T}/r/.cells"),
    "cells of a family": ("CELLS", "{T}/r/f/.cells"),
    "cells of a view": ("CELLS", "{T}/.prefix/r/.cells"),
    ".cellfs": ("CONTROL_DIR", ".cellfs"),
    ".cellfs absent": ("CONTROL", ".cellfs/none"),
    "scratch": ("SCRATCH", "{T}/.s"),
    "scratch in a column": ("SCRATCH", "{T}/r/f/q/.s"),
    "scratch absent": ("SCRATCH", "{T}/.none"),
    "scratch absent in a column": ("SCRATCH", "{T}/r/f/q/7.tmp"),
    "scratch absent in the root": ("SCRATCH", ".{T}"),
    "scratch not temporary": ("SCRATCH", "{T}/r/f/q/notes"),
    "scratch below scratch": ("SCRATCH", "{T}/.d/a"),
    "scratch absent below scratch": ("SCRATCH", "{T}/.d/none"),
    "scratch directory": ("SCRATCH_DIR", "{T}/.d"),
    "scratch directory empty": ("SCRATCH_DIR", "{T}/.dd"),
    ".snapshot of a table": ("SNAPSHOT_DIR", "{T}/.snapshot"),
    ".snapshot of the mount": ("SNAPSHOT_DIR", ".snapshot"),
    "snapshot of a table": ("TABLE", "{T}/.snapshot/s"),
    "snapshot of a table absent": ("TABLE", "{T}/.snapshot/none"),
    "snapshot of the mount": ("SNAPSHOT", ".snapshot/w"),
    "snapshot of the mount absent": ("SNAPSHOT", ".snapshot/none{T}"),
    "snapshot: table": ("TABLE", ".snapshot/w/{S}"),
    "snapshot: schema": ("SCHEMA", "{T}/.snapshot/s/.schema"),
    "snapshot: row": ("ROW", "{T}/.snapshot/s/r"),
    "snapshot: row absent": ("ROW", "{T}/.snapshot/s/none"),
    "snapshot: version": ("VERSION", "{T}/.snapshot/s/r/f/q/200"),
    "snapshot: latest": ("LATEST", "{T}/.snapshot/s/r/f/q/latest"),
    "snapshot: alias": ("ALIAS", "{T}/.snapshot/s/r/f:q"),
    "snapshot: counter": ("COUNTER", "{T}/.snapshot/s/r/f/n/counter"),
    "snapshot: cells": ("CELLS", "{T}/.snapshot/s/.cells"),
    "snapshot: scratch absent": ("SCRATCH", "{T}/.snapshot/s/.none"),
    ".range": ("VIEW_NAME", "{T}/.range"),
    ".prefix": ("VIEW_NAME", "{T}/.prefix"),
    ".prefix of a family": ("VIEW_NAME", "{T}/r/f/.prefix"),
    ".first": ("VIEW_NAME", "{T}/.first"),
    ".last": ("VIEW_NAME", "{T}/.last"),
    ".after": ("VIEW_NAME", "{T}/.after"),
    ".since": ("VIEW_NAME", "{T}/.since"),
    ".between": ("VIEW_NAME", "{T}/.between"),
    ".at": ("VIEW_NAME", "{T}/.at"),
    ".raw": ("VIEW", "{T}/.raw"),
    "view": ("VIEW", "{T}/.prefix/r"),
    "view of a family": ("VIEW", "{T}/r/f/.first/1"),
    "view of the past": ("VIEW", "{T}/.at/now"),
    "view wrongly named": ("VIEW", "{T}/.first/none"),
    "view: row": ("ROW", "{T}/.prefix/r/r"),
    "view: row absent": ("ROW", "{T}/.prefix/r/none"),
    "view: version": ("VERSION", "{T}/.prefix/r/r/f/q/200"),
    "view: latest": ("LATEST", "{T}/.prefix/r/r/f/q/latest"),
    "view: alias": ("ALIAS", "{T}/.prefix/r/r/f:q"),
    "view: value": ("VALUE", "{T}/.at/now/r/f/q"),
    "view: value absent": ("VALUE", "{T}/.at/now/r/f/none"),
    "view: marker": ("MARKER", "{T}/.raw/r/f/gone/60.delete"),
    ".stage": ("STAGE", "{T}/.stage"),
    "stage: row": ("SCRATCH_DIR", "{T}/.stage/sr"),
    "stage: row absent": ("SCRATCH", "{T}/.stage/none"),
    ".put": ("PUT", "{T}/.put"),
    ".put: row": ("ROW", "{T}/.put/r"),
    ".put: row absent": ("ROW", "{T}/.put/none"),
    ".put: row misspelled": ("ROW", "{T}/.put/.none"),
    ".put: row piece": ("ROW_PIECE", "{T}/.put/" + PIECE),
    ".put: family": ("FAMILY", "{T}/.put/r/f"),
    ".put: family absent": ("FAMILY", "{T}/.put/none/f"),
    ".put: column": ("COLUMN", "{T}/.put/r/f/q"),
    ".put: version": ("VERSION", "{T}/.put/r/f/q/200"),
    ".put: alias": ("ALIAS", "{T}/.put/r/f:q"),
    ".put: alias absent": ("ALIAS", "{T}/.put/none/f:q"),
    ".put: cells": ("CELLS", "{T}/.put/r/.cells"),
    ".info": ("INFO_DIR", "{T}/.info"),
    ".info absent": ("INFO", "{T}/.info/none"),
    "below a file": ("VERSION", "{T}/r/f/q/200/x"),
}
NODES |= {".cellfs/" + n: ("CONTROL", ".cellfs/" + n) for n in (
    "compact errors flush help metrics options stats status store sync trace "
    "version").split()}
NODES |= {".info/" + n: ("INFO", "{T}/.info/" + n) for n in (
    "bytes cells damaged files first last newest oldest rows").split()}

MOUNTS = {"rw": [], "ro": ["ro"], "nodelete": ["nodelete"],
          "strict": ["strict_attr"]}
USERS = {"owner": OWNER, "other": OTHER, "root": 0}
COLUMNS = [("rw", "owner"), ("rw", "other"), ("rw", "root"), ("ro", "owner"),
           ("ro", "root"), ("nodelete", "owner"), ("strict", "owner")]
# Nodes like another one of which all is asked: of these, only BRIEFLY.
BRIEF = set("""
.range .first .last .after .since .between .at
.info/bytes .info/cells .info/damaged .info/files .info/last .info/newest
.info/oldest .cellfs/metrics .cellfs/options .cellfs/stats .cellfs/status
.cellfs/version .cellfs/compact .cellfs/sync""".split())


class Unreached(Exception):
    """The file could not be opened for the call."""


class AtClose(Exception):
    """The error came with close(2)."""


def checked(result):
    if result == -1:
        raise OSError(ctypes.get_errno(), "")


class Opened:
    """A descriptor; what comes before the call that is asked for is no answer."""

    def __init__(self, path, flags):
        try:
            self.fd = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as e:
            raise Unreached from e

    def __enter__(self):
        return self.fd

    def __exit__(self, kind, value, trace):
        try:
            os.close(self.fd)
        except OSError as e:
            if not kind:
                raise AtClose(errno.errorcode[e.errno]) from e


def opens(flags):
    def call(path, _):
        fd = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o644)
        try:
            os.close(fd)
        except OSError as e:
            raise AtClose(errno.errorcode[e.errno]) from e
    return call


def on(flags, act):
    def call(path, tree):
        with Opened(path, flags) as fd:
            act(fd, tree)
    return call


def to(name, flags=0):
    """rename of the node to another place."""
    def call(path, tree):
        checked(libc.renameat2(AT_FDCWD, path.encode(), AT_FDCWD,
                               tree.path(name).encode(), flags))
    return call


def of(name, flags=0):
    """rename of another thing to the node's place."""
    def call(path, tree):
        checked(libc.renameat2(AT_FDCWD, tree.path(name).encode(), AT_FDCWD,
                               path.encode(), flags))
    return call


def beside(name):
    """rename in the node's own directory."""
    def call(path, tree):
        other = os.path.dirname(path) + "/" + name.format(T=tree.name)
        checked(libc.renameat2(AT_FDCWD, path.encode(), AT_FDCWD,
                               other.encode(), 0))
    return call


def mapped(how):
    def call(fd, _):
        at = libc.mmap(None, 4096, PROT_READ, how, fd, 0)
        if at == ctypes.c_void_p(-1).value:
            raise OSError(ctypes.get_errno(), "")
        libc.munmap(at, 4096)
    return call


def fallocate(mode, length):
    return lambda fd, _: checked(libc.fallocate(fd, mode, 0, length))


def copy_range(fd, tree):
    if tree.sink is None:
        raise Unreached
    os.copy_file_range(fd, tree.sink, 4, 0)


R, W, RW = os.O_RDONLY, os.O_WRONLY, os.O_RDWR
# Those that cannot change anything; all others are looked at for that.
READING = {
    "stat": lambda p, t: os.lstat(p),
    "access-w": lambda p, t: access(p, os.W_OK),
    "access-x": lambda p, t: access(p, os.X_OK),
    "open-dir": opens(R | os.O_DIRECTORY),
    "readdir": lambda p, t: os.listdir(p),
    "readlink": lambda p, t: os.readlink(p),
    "statfs": lambda p, t: os.statvfs(p),
    "getxattr": lambda p, t: os.getxattr(p, "user.a"),
    "listxattr": lambda p, t: os.listxattr(p),
    "lockf": on(RW, lambda fd, t: fcntl.lockf(fd, fcntl.LOCK_EX)),
}
# Those of one descriptor that is open to be read.
BY_READER = {
    "open-r": lambda fd, t: None,
    "read": lambda fd, t: os.pread(fd, 10, 0),
    "read-far": lambda fd, t: os.pread(fd, 10, FAR),
    "write-r": lambda fd, t: os.pwrite(fd, b"5\n", 0),
    "ftruncate-r": lambda fd, t: os.ftruncate(fd, 2),
    "fallocate-r": lambda fd, t: fallocate(0, 40)(fd, t),
    "seek-data": lambda fd, t: os.lseek(fd, 0, os.SEEK_DATA),
    "seek-hole": lambda fd, t: os.lseek(fd, 0, os.SEEK_HOLE),
    "flock": lambda fd, t: fcntl.flock(fd, fcntl.LOCK_EX),
    "ioctl": lambda fd, t: fcntl.ioctl(fd, termios.TCGETS, bytes(64)),
    "fsync": lambda fd, t: os.fsync(fd),
    "mmap-shared": mapped(MAP_SHARED),
    "mmap-private": mapped(MAP_PRIVATE),
    "copy-range": copy_range,
}
WRITING = {
    "open-w": opens(W),
    "open-rw": opens(RW),
    "open-append": opens(W | os.O_APPEND),
    "open-trunc": opens(W | os.O_TRUNC),
    "creat": opens(W | os.O_CREAT),
    "creat-trunc": opens(W | os.O_CREAT | os.O_TRUNC),
    "creat-excl": opens(W | os.O_CREAT | os.O_EXCL),
    "write": on(W, lambda fd, t: os.pwrite(fd, b"5\n", 0)),
    "write-append": on(W | os.O_APPEND, lambda fd, t: os.write(fd, b"5\n")),
    "write-far": on(W, lambda fd, t: os.pwrite(fd, b"5\n", FAR)),
    "write-sync": on(W | os.O_SYNC, lambda fd, t: os.pwrite(fd, b"5\n", 0)),
    "truncate": lambda p, t: os.truncate(p, 2),
    "truncate-far": lambda p, t: os.truncate(p, FAR),
    "ftruncate": on(W, lambda fd, t: os.ftruncate(fd, 2)),
    "ftruncate-far": on(W, lambda fd, t: os.ftruncate(fd, FAR)),
    "fallocate": on(W, fallocate(0, 40)),
    "fallocate-far": on(W, fallocate(0, FAR)),
    "fallocate-punch": on(W, fallocate(3, 2)),
    "mkdir": lambda p, t: os.mkdir(p, 0o755),
    "rmdir": lambda p, t: os.rmdir(p),
    "unlink": lambda p, t: os.unlink(p),
    "link": lambda p, t: os.link(p, t.path("{T}/.link")),
    "link-to": lambda p, t: os.link(t.path("{T}/.s"), p),
    "symlink": lambda p, t: os.symlink("x", p),
    "mknod": lambda p, t: os.mknod(p, 0o100644),
    "mknod-fifo": lambda p, t: os.mknod(p, 0o010644),
    "mknod-socket": lambda p, t: os.mknod(p, 0o140644),
    "chmod": lambda p, t: os.chmod(p, 0o711),
    "chown": lambda p, t: os.chown(p, OTHER, -1),
    "chgrp": lambda p, t: os.chown(p, -1, OWNER),
    "utimens": lambda p, t: os.utime(p, (1, 2)),
    "utimens-now": lambda p, t: os.utime(p),
    "setxattr": lambda p, t: os.setxattr(p, "user.a", b"1"),
    "setfacl": lambda p, t: os.setxattr(p, "system.posix_acl_access", b"1"),
    "removexattr": lambda p, t: os.removexattr(p, "user.a"),
    "to itself": lambda p, t: os.rename(p, p),
    "to beside.tmp": beside("{T}.tmp"),
    "to a table": to("{T}y"),
    "to a row": to("{T}/r2"),
    "to an empty row": to("{T}/e2"),
    "to a new row": to("{T}/new"),
    "to a family": to("{T}/r/h"),
    "to a column": to("{T}/r/f/new"),
    "to an empty column": to("{T}/e/f/q2"),
    "to a version": to("{T}/r/f/q/100"),
    "to a new version": to("{T}/r/f/q/150"),
    "to latest": to("{T}/r/f/solo/latest"),
    "to an alias": to("{T}/r/f:solo"),
    "to another row's alias": to("{T}/r2/f:q"),
    "to the schema": to("{T}/.schema"),
    "to cells": to("{T}/.cells"),
    "to scratch": to("{T}/.s2"),
    "to a scratch directory": to("{T}/.dd"),
    "to a new name in a scratch directory": to("{T}/.d/new"),
    "to a file of .cellfs": to(".cellfs/sync"),
    "to a file of .info": to("{T}/.info/rows"),
    "to a view": to("{T}/.prefix/r/r/f:q"),
    "to a snapshot": to("{T}/.snapshot/s2"),
    "to a row of a snapshot": to("{T}/.snapshot/s/new"),
    "to .put": to("{T}/.put/r/f:put"),
    "to .stage": to("{T}/.stage/new"),
    "noreplace to an alias": to("{T}/r/f:solo", NOREPLACE),
    "noreplace to a new alias": to("{T}/r/f:fresh", NOREPLACE),
    "exchange with an alias": to("{T}/r/f:solo", EXCHANGE),
    "from scratch": of("{T}/.s"),
    "from scratch noreplace": of("{T}/.s", NOREPLACE),
    "from a scratch directory": of("{T}/.dd"),
    "from a version": of("{T}/r/f/q/100"),
    "from latest": of("{T}/r/f/solo/latest"),
    "from an alias": of("{T}/r/f:solo"),
    "from the schema": of("{T}/.schema"),
    "from a row": of("{T}/r2"),
    "from an empty row": of("{T}/e2"),
    "from an empty column": of("{T}/e/f/q2"),
    "from a table": of("{S}z"),
    "from a staged row": of("{T}/.stage/sr"),
}
CALLS = READING | BY_READER | WRITING
RENAMES = [c for c in CALLS if c.split()[0] in ("to", "from", "noreplace",
                                                "exchange")]
BRIEFLY = set("""
stat access-w open-r open-dir read readdir readlink seek-data mmap-shared open-w
open-rw open-trunc creat creat-excl write write-far truncate mkdir rmdir unlink
link-to chmod setxattr""".split()) | {"to an alias", "to beside.tmp",
                                      "from scratch", "from an alias"}


def concerns(node, call, mode, user):
    """Is that to be asked? What can only be answered as before is not."""
    if node in BRIEF and call not in BRIEFLY:
        return False
    # One absent name is moved everywhere, of the others that it is absent.
    if "absent" in node and node != "version absent" and call in RENAMES:
        return call.startswith("from ") or call == "to an alias"
    if mode == "ro":
        return call in WRITING or call in ("stat", "access-w", "open-r",
                                           "read", "readdir")
    if mode == "nodelete":
        return call in RENAMES or call in ("rmdir", "unlink", "open-trunc",
                                           "write", "mkdir", "truncate")
    if mode == "strict":
        return call in ("chmod", "chown", "chgrp", "utimens", "utimens-now",
                        "write", "unlink")
    if user == "other" and call in RENAMES:
        return call in BRIEFLY
    return True


def access(path, how):
    if not os.access(path, how, effective_ids=True):
        os.lstat(path)
        raise OSError(errno.EACCES, path)


def be(uid):
    if os.geteuid() == uid == os.getegid():
        return
    os.seteuid(0)
    os.setegid(uid)
    os.seteuid(uid)


class Mount:
    def __init__(self, cellfs, where, mode):
        self.mode = mode
        self.was = None  # the state of a tree that nobody has changed
        self.at = where + "/mnt"
        atexit.register(self.give_up)
        self.log = open(where + "/log", "w+")
        os.seteuid(0)
        os.makedirs(self.at, exist_ok=True)
        self.daemon = subprocess.Popen(
            [cellfs, where + "/store", self.at, "-f", "-o",
             ",".join(["run_as=nobody", "allow_other"] + MOUNTS[mode])],
            stdout=self.log, stderr=self.log)
        for _ in range(3000):
            if os.path.ismount(self.at):
                return
            if self.daemon.poll() is not None:
                break
            time.sleep(0.01)
        self.log.seek(0)
        sys.exit("no mount: " + self.log.read())

    def give_up(self):
        if self.daemon.poll() is None:
            os.seteuid(0)
            self.daemon.kill()
            self.daemon.wait()
            subprocess.run(["fusermount3", "-q", "-u", "-z", self.at])

    def end(self, kept):
        os.seteuid(0)
        for _ in range(1000):
            if not subprocess.run(["fusermount3", "-q", "-u",
                                   self.at]).returncode:
                break
            time.sleep(0.01)
        code = self.daemon.wait(60)
        self.log.seek(0)
        said = [line for line in self.log
                if not (kept and re.search(" is kept as | keeps what ", line))]
        if code or said:
            sys.exit(f"the daemon ended with {code} and said:\n" +
                     "".join(said))


CELLS = (f"{LONG}\tf:q\t5\tlong\n"
         f"r\tf:{LONG}\t5\tlong\n"
         "r\tf:gone\t60\tx\nr\tf:gone\t60\t\tdelete\n"
         "r\tf:n\t5\t%00%00%00%00%00%00%00%07\n"
         "r\tf:q\t100\tone\nr\tf:q\t200\ttwo two\n"
         "r\tf:solo\t50\tsolo\n"
         "r2\tf:q\t5\tother row\n")


# What a call may make or remove in the root.
NAMES_OF_ROOT = ["{T}", "{T}.tmp", "{T}x", "{T}y", "{S}z", "{T}!", ".{T}", ".snapshot/w",
                 ".snapshot/none{T}"]
# The directories in which a call may make or remove something.
LISTED = ["", "/r", "/r/f", "/r/f/q", "/r/f/solo", "/r2", "/e", "/e/f", "/e/f/q", "/.d",
          "/.dd", "/.put/r", "/.stage", "/.stage/sr", "/.snapshot"]


def write(path, text, flags=os.O_CREAT):
    fd = os.open(path, os.O_WRONLY | flags, 0o644)
    os.write(fd, text.encode())
    os.close(fd)


class Tree:
    """A table of the case's own, with all that the list of nodes names."""

    def __init__(self, mount, name, shown, made):
        self.mount, self.name, self.shown = mount, name, shown
        self.sink = None
        self.seen = None  # by changed(), the last time
        if made:
            self.make()
            self.sink = os.open(self.path("{T}/.sink"),
                                os.O_WRONLY | os.O_CREAT)
        if not mount.was:
            mount.was = self.state()

    def forget(self):
        if self.sink is not None:
            os.close(self.sink)

    def path(self, text):
        return self.mount.at + "/" + text.format(T=self.name, S=self.shown)

    def make(self):
        be(OWNER)
        path = self.path
        for name in ("{T}", "{S}z"):
            if not os.path.exists(path(name)):
                os.mkdir(path(name))
        os.mkdir(path("{T}/.d"))
        self.fill()
        os.mkdir(path("{T}/.snapshot/s"))
        if self.mount.was and not os.path.exists(path(".snapshot/w")):
            os.mkdir(path(".snapshot/w"))

    def fill(self):
        path = self.path
        text = CELLS
        if self.mount.mode == "nodelete":
            text = re.sub(r".*\tdelete\n", "", text)
        write(path("{T}/.cells"), text, 0)
        for name in ("{T}/e", "{T}/e/f", "{T}/e/f/q", "{T}/e/f/q2", "{T}/e2",
                     "{T}/.dd", "{T}/.stage/sr", "{T}/.stage/sr/f"):
            os.mkdir(path(name))
        for name in ("{T}/.s", "{T}/r/f/q/.s", "{T}/.d/a",
                     "{T}/.stage/sr/f:q"):
            write(path(name), "scratch")

    def refill(self):
        """Repairs what is in the table: False when more than that is amiss."""
        now, was = self.seen, self.mount.was
        if self.mount.mode == "nodelete" or any(
                now.get(n) != was[n] for n in was if not n.startswith("/") or
                n in ("/.schema", "/.snapshot", "/.put/r", "/.d/")):
            return False
        be(0)
        for name in ("{T}", "{T}/.stage", "{T}/.d"):
            for entry in os.scandir(self.path(name)):
                if entry.name in (".sink", ".schema", ".d"):
                    continue
                if entry.is_dir():
                    shutil.rmtree(entry.path)
                else:
                    os.unlink(entry.path)
        be(OWNER)
        self.fill()
        return True

    def state(self):
        """All that a user can see of it, in words that fit each table."""
        uid = os.geteuid()
        os.seteuid(0)
        table = self.path("{T}")
        seen = {n: os.path.lexists(self.path(n)) for n in NAMES_OF_ROOT}
        if os.path.isdir(table):
            st = os.lstat(table)
            seen["owner"] = (st.st_mode, st.st_uid, st.st_gid)
            for name in LISTED:
                try:
                    seen[name] = os.listdir(table + name)
                except OSError as e:
                    seen[name] = e.errno
                self.look_at_scratch(table + name, seen[name], seen)
            for name in ("/.schema", "/.cells"):
                seen[name] = text_of(table + name)
        os.seteuid(uid)
        return seen

    def look_at_scratch(self, path, names, seen):
        for name in names if isinstance(names, list) else []:
            if name in (".s", ".d", ".dd", "a", "sr"):
                st = os.lstat(path + "/" + name)
                seen[path[len(self.path("{T}")):] + f"/{name}/"] = (
                    st.st_mode, st.st_uid, st.st_gid, st.st_mtime == 2,
                    text_of(path + "/" + name))

    def changed(self):
        self.seen = self.state()
        return self.seen != self.mount.was


def text_of(path):
    try:
        fd = os.open(path, os.O_RDONLY)
        try:
            return os.read(fd, 10000)
        finally:
            os.close(fd)
    except OSError as e:
        return e.errno


class Asker:
    def __init__(self, mode, mount, shown, first):
        self.mode, self.mount, self.shown = mode, mount, shown
        self.count = 0
        # What the owner was told: what he may change is not asked as root.
        self.owners = {}
        self.tree = None
        self.first = first
        self.fresh()

    def fresh(self):
        if self.tree and self.tree.refill():
            return
        self.count += 1
        if self.tree:
            self.tree.forget()
        # Where nothing can be made, all cases are of the one table.
        ro = self.mode == "ro"
        name = self.first if ro else f"{self.mode}{self.count}"
        self.tree = Tree(self.mount, name, self.shown, not ro)

    def answer(self, act, *args):
        try:
            act(*args, self.tree)
            return "ok"
        except Unreached:
            return "-"
        except AtClose as e:
            return f"c:{e}"
        except OSError as e:
            return errno.errorcode[e.errno]

    def by_reader(self, path, calls, answers):
        """The answers of calls that need a descriptor to read."""
        try:
            fd = os.open(path, R | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as e:
            answers["open-r"] = errno.errorcode[e.errno]
            return
        for call in calls:
            answers[call] = self.answer(BY_READER[call], fd)
        os.close(fd)

    def ask(self, node, user):
        """The answers of a node to a user, by call."""
        calls = [c for c in CALLS if concerns(node, c, self.mode, user) and
                 (user != "root" or self.owners.get((node, c)) != "ok+")]
        answers = dict.fromkeys(CALLS, "-")
        be(USERS[user])
        path = self.tree.path(NODES[node][1])
        for call in calls:
            if call in READING:
                answers[call] = self.answer(READING[call], path)
        self.by_reader(path, [c for c in calls if c in BY_READER], answers)
        for call in calls:
            if call not in WRITING:
                continue
            said = self.answer(WRITING[call], path)
            # For what fails the tree is looked at once in some nodes.
            if said[:2] in ("ok", "c:") and self.mode != "ro" and \
               self.tree.changed():
                said += "+"
                self.fresh()
                be(USERS[user])
                path = self.tree.path(NODES[node][1])
            answers[call] = said
        if user == "owner":
            self.owners.update(((node, c), a) for c, a in answers.items())
        return answers

    def nothing_else(self, nodes, user):
        """Has nothing changed but by calls of which it is said?"""
        if not self.tree.changed():
            return True
        print(f"{user} of a mount {self.mode}: a call that failed, or that "
              f"reads, has changed something: {', '.join(nodes)}")
        self.fresh()
        return False


LOOK_EVERY = 8


def all_answers(cellfs, where, nodes):
    """By node and call: the answers of all columns."""
    table = {(node, call): [] for node in nodes for call in CALLS}
    good = True
    for mode in MOUNTS:
        mount = Mount(cellfs, where, mode)
        if mode == "rw":
            shown = Tree(mount, "shown", "shown", True)
            os.mkdir(mount.at + "/.snapshot/w")
            shown.forget()
            mount.was = None
        asker = Asker(mode, mount, "shown", "shown")
        for m, user in COLUMNS:
            if m != mode:
                continue
            for i in range(0, len(nodes), LOOK_EVERY):
                some = nodes[i:i + LOOK_EVERY]
                for node in some:
                    for call, said in asker.ask(node, user).items():
                        table[node, call].append(said)
                good &= asker.nothing_else(some, user)
        asker.tree.forget()
        mount.end(mode != "ro")
    return table, good


def block_of(table, node):
    """A node's lines of errnos.txt: calls that answer the same are on one."""
    by_answers = {}
    for call in CALLS:
        answers = " ".join(table[node, call])
        if answers.strip("- "):
            by_answers.setdefault(answers, []).append(call)
    return "".join(f"\t{answers}\t{', '.join(calls)}\n"
                   for answers, calls in by_answers.items())


def text_of_table(table, nodes):
    """errnos.txt: nodes that answer everything the same have one block."""
    blocks = {}
    for node in nodes:
        blocks.setdefault(block_of(table, node), []).append(node)
    return "\n".join("".join(n + "\n" for n in names) + block
                     for block, names in blocks.items())


def parse(lines):
    """The answers by node and call."""
    table, block, begun = {}, [], False
    for line in lines:
        if line.startswith("#") or not line.strip():
            continue
        if not line.startswith("\t"):
            block = [line.strip()] if begun else block + [line.strip()]
            begun = False
            continue
        begun = True
        _, answers, calls = line.rstrip("\n").split("\t")
        for node in block:
            for call in calls.split(", "):
                table[node, call] = answers.split()
    return table


def source(name):
    with open(os.path.join(TREE, name)) as f:
        return f.read()


def missing_nodes():
    """What the tree has and the list of nodes has not."""
    kinds = set(re.findall(r"^\t\[NODE_(\w+)\] = ", source("kind.c"), re.M))
    have = {kind for kind, _ in NODES.values()}
    parts = {part for _, path in NODES.values() for part in path.split("/")}
    words = set(re.findall(r'^\t\{"([^"]+)", NODE', source("fixed.c"), re.M))
    control = set(re.findall(r'^\t\{\.name = "(\w+)"',
                             source("control_file.c"), re.M))
    info = set(re.findall(r'(?:FIGURE\(|\{")(\w+)(?:"|), (?:\.kind|[A-Z])',
                          source("info.c")))
    missing = [f"the kind NODE_{k} has no node here" for k in kinds - have]
    missing += [f"{k} is no kind of fs/tree/kind.c" for k in have - kinds]
    missing += [f"{n} has no node here"
                for n in (words | control | info) - parts]
    if min(len(kinds), len(words), len(control), len(info)) < 5:
        missing.append("fs/tree does not look as this program reads it")
    return missing


def compare(table, nodes):
    with open(EXPECTED) as f:
        want = parse(f)
    bad = 0
    for node in nodes:
        for call in CALLS:
            expected = want.get((node, call), ["-"] * len(COLUMNS))
            for (mode, user), e, got in zip(COLUMNS, expected,
                                            table[node, call]):
                if e != got:
                    bad += 1
                    print(f"{node}: {call} by {user}, {mode}: "
                          f"{got}, expected {e}")
    return bad


HEAD = """\
# What each call answers for each kind of node: errnos.py says how to read it.
# Columns: {}
# Of Linux {}.
"""


def linux():
    return ".".join(os.uname().release.split(".")[:2])


def tolerated(asked):
    """Answers that may differ: a few are the kernel's own, and another one's
    may be others."""
    with open(EXPECTED) as f:
        return 0 if f"# Of Linux {linux()}.\n" in f else asked // 200


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("cellfs")
    parser.add_argument("dir")
    args = parser.parse_args()
    missing = missing_nodes()
    for line in missing:
        print(line)
    if os.getuid():
        sys.exit("only root is three users")
    os.setgroups([])
    os.umask(0o022)
    nodes = [n for n in NODES if args.only in n]
    table, good = all_answers(args.cellfs, args.dir, nodes)
    asked = sum(a != "-" for answers in table.values() for a in answers)
    if args.write:
        with open(EXPECTED, "w") as f:
            f.write(HEAD.format(" ".join(f"{m}/{u}" for m, u in COLUMNS),
                                linux()))
            f.write(text_of_table(table, nodes))
        bad = 0
    else:
        bad = compare(table, nodes)
    print(f"{len(nodes)} nodes, {len(CALLS)} calls, {asked} answers, "
          f"{bad} unexpected")
    sys.exit(bool(bad > tolerated(asked) or missing or not good))


if __name__ == "__main__":
    main()
