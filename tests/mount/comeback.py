"""Every way to remove a row's only cell, with every way to put one again.

comeback.py CELLCTL MOUNT

A row has the column f:q with one version. It is looked at by all its names, so
that the kernel keeps what it may; then it is removed in one way, must be seen
to be gone, is put again in another way, and must be seen and written by every
name. Prints the pairs that failed, and exits with 1 if there are any.
"""
import os
import shutil
import subprocess
import sys
import time

CELLCTL, MOUNT = sys.argv[1:]
TABLE = MOUNT + "/T"
OLD = "1700000000000"
LATER = "1800000000000"
MORE = "more\n"


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def read(path):
    with open(path) as f:
        return f.read()


def line(row, column, ts, value, kind):
    write(TABLE + "/.cells", f"{row}\t{column}\t{ts}\t{value}\t{kind}\n")


def cellctl(*args, text=""):
    subprocess.run([CELLCTL, *args], input=text, text=True, check=True)


def directories(path):
    os.makedirs(path, exist_ok=True)
    return path


class Row:
    def __init__(self, name):
        self.name = name
        self.path = TABLE + "/" + name
        self.put = TABLE + "/.put/" + name

    def at(self, *parts):
        return "/".join((self.path,) + parts)


# -- to remove ---------------------------------------------------------------

def rmdirs(row):
    for part in "f/q", "f":
        os.rmdir(row.at(part))
    os.rmdir(row.path)


def version_and_rmdir(row):
    os.unlink(row.at("f/q", OLD))
    rmdirs(row)


def latest_and_rmdir(row):
    os.unlink(row.at("f/q/latest"))
    rmdirs(row)


def alias_and_rmdir(row):
    os.unlink(row.at("f:q"))
    os.rmdir(row.path)


def move_away(row):
    os.rename(row.at("f:q"), row.at("g:gone"))
    os.unlink(row.at("g:gone"))


REMOVE = {
    "rm F:Q": lambda r: os.unlink(r.at("f:q")),
    "rm F/Q/latest": lambda r: os.unlink(r.at("f/q/latest")),
    "rm F/Q/TS": lambda r: os.unlink(r.at("f/q", OLD)),
    "rm F/Q/TS, rmdir": version_and_rmdir,
    "rm F/Q/latest, rmdir": latest_and_rmdir,
    "rm F:Q, rmdir": alias_and_rmdir,
    "rm -r F/Q": lambda r: shutil.rmtree(r.at("f/q")),
    "rm -r F": lambda r: shutil.rmtree(r.at("f")),
    "rm -r R": lambda r: shutil.rmtree(r.path),
    "mv F:Q away": move_away,
    "rm .put/R/F:Q": lambda r: os.unlink(r.put + "/f:q"),
    "rm .put/R/F/Q/TS": lambda r: os.unlink(r.put + "/f/q/" + OLD),
    "rm -r .put/R": lambda r: shutil.rmtree(r.put),
    "a line: delete": lambda r: line(r.name, "f:q", OLD, "", "delete"),
    "a line: delete-column":
        lambda r: line(r.name, "f:q", "", "", "delete-column"),
    "a line: delete-family":
        lambda r: line(r.name, "f:", "", "", "delete-family"),
    "a line: delete-row": lambda r: line(r.name, "", "", "", "delete-row"),
    "cellctl delete": lambda r: cellctl("delete", MOUNT, "T", r.name, "f:q"),
    "cellctl deleteall": lambda r: cellctl("deleteall", MOUNT, "T", r.name),
}


# -- to put ------------------------------------------------------------------

def by_mv(row):
    directories(row.at("f"))
    write(row.at("f:other"), "new\n")
    os.rename(row.at("f:other"), row.at("f:q"))
    os.rmdir(row.at("f/other"))


def by_scratch(row):
    directories(row.at("f/q"))
    write(row.at("f/q/.new.tmp"), "new\n")
    os.rename(row.at("f/q/.new.tmp"), row.at("f/q", LATER))


def by_scratch_in_put(row):
    write(row.put + "/.new.tmp", "new\n")
    os.rename(row.put + "/.new.tmp", row.put + "/f:q")


def append(path, text):
    with open(path, "a") as f:
        f.write(text)


def by_stage(row):
    stage = TABLE + "/.stage/" + row.name
    write(directories(stage + "/f/q") + "/latest", "new\n")
    os.rename(stage, row.path)


PUT = {
    "echo > F:Q": lambda r: write(directories(r.path) + "/f:q", "new\n"),
    "echo > F/Q/latest":
        lambda r: write(directories(r.at("f/q")) + "/latest", "new\n"),
    "echo > F/Q/TS":
        lambda r: write(directories(r.at("f/q")) + "/" + OLD, "new\n"),
    "echo >> F/Q/TS":
        lambda r: append(directories(r.at("f/q")) + "/" + OLD, "new\n"),
    "cp": lambda r: write(directories(r.at("f/q")) + "/" + LATER, "new\n"),
    "mv in the row": by_mv,
    "mv of a temporary file": by_scratch,
    "mv .stage/R": by_stage,
    "echo > .put/R/F:Q": lambda r: write(r.put + "/f:q", "new\n"),
    "echo > .put/R/F/Q/latest":
        lambda r: write(directories(r.put + "/f/q") + "/latest", "new\n"),
    "mv in .put": by_scratch_in_put,
    "a line": lambda r: line(r.name, "f:q", "", "new%0A", "put"),
}
# Each costs a process, so that they are tried with some.
PUT_WITH_SOME = {
    "cellctl put": lambda r: cellctl("put", MOUNT, "T", r.name, "f:q", "new\n"),
}
SOME = ("rm F:Q", "rm F/Q/latest", "rm -r R", "cellctl deleteall")


# -- to look -----------------------------------------------------------------

def settled(look, row):
    """Other names than the one that was written are told of by notices."""
    until = time.monotonic() + 30
    while True:
        what = look(row)
        if not what or time.monotonic() > until:
            return what
        time.sleep(0.005)


def listed(path):
    try:
        return os.path.basename(path) in os.listdir(os.path.dirname(path))
    except FileNotFoundError:
        return False


def not_empty(row):
    # Who makes a path looks first at what is there, in the kernel's memory.
    for path in row.path, row.at("f"), row.at("f/q"):
        if listed(path) != os.path.exists(path):
            return path + " is listed or found, but not both"
    for name in "f:q", "f/q/latest", "f/q/" + OLD, "f/q/" + LATER:
        if os.path.exists(row.at(name)):
            return name + " is there"
    for top, _, files in os.walk(row.path):
        if files:
            return f"{top} holds {files}"
    return None


def not_full(row, text="new\n"):
    try:
        if text != MORE and row.name not in os.listdir(TABLE):
            return "the row is not listed"
        if "f" not in os.listdir(row.path):
            return "the family is not listed"
        if os.listdir(row.at("f")) != ["q"]:
            return f"the family holds {os.listdir(row.at('f'))}"
        versions = os.listdir(row.at("f/q"))
        if not versions:
            return "the column is empty"
        for name in "f:q", "f/q/latest", "f/q/" + versions[0]:
            if read(row.at(name)) != text:
                return f"{name} is {read(row.at(name))!r}"
        if read(row.put + "/f:q") != text:
            return "it is not in .put"
    except OSError as e:
        return str(e)
    return None


def not_writable(row):
    try:
        write(row.at("f/q/latest"), MORE)
    except OSError as e:
        return str(e)
    return not_full(row, MORE)


def make(row):
    directories(row.at("f/q"))
    write(row.at("f/q", OLD), "old\n")
    read(row.at("f:q"))
    read(row.at("f/q/latest"))
    read(row.at("f/q", OLD))
    os.listdir(row.at("f/q"))


failures = 0


def check(pair, what):
    global failures
    if what:
        failures += 1
        print(f"{pair}: {what}")


def act(pair, how, row):
    try:
        how(row)
    except (OSError, subprocess.CalledProcessError) as e:
        check(pair, e)


def put(pair, how, row):
    act(pair + ": put", how, row)
    check(pair + ": look", settled(not_full, row))
    check(pair + ": write", settled(not_writable, row))


def pairs():
    for i, (by, remove) in enumerate(REMOVE.items()):
        ways = dict(PUT, **(PUT_WITH_SOME if by in SOME else {}))
        if by.startswith("cellctl"):
            ways = dict(list(ways.items())[::3])
        for k, (way, how) in enumerate(ways.items()):
            row = Row(f"r{i}-{k}")
            pair = f"{by} / {way}"
            make(row)
            act(pair + ": remove", remove, row)
            check(pair + ": gone", settled(not_empty, row))
            put(pair, how, row)


def each(name, then, ways, text):
    """Rows that all went at once, by @then."""
    rows = {way: Row(f"{name}-{k}") for k, way in enumerate(ways)}
    for row in rows.values():
        make(row)
    then(rows)
    for way, row in rows.items():
        if text is None:
            check(f"{name} / {way}: gone", settled(not_empty, row))
            put(f"{name} / {way}", ways[way], row)
        else:
            check(f"{name} / {way}: look",
                  settled(lambda r: not_full(r, text), row))
            check(f"{name} / {way}: write", settled(not_writable, row))


def restore(rows):
    os.mkdir(TABLE + "/.snapshot/s")
    for way, row in rows.items():
        REMOVE[way](row)
    cellctl("snapshot", "-t", "T", MOUNT, "restore", "s")
    os.rmdir(TABLE + "/.snapshot/s")


def drop(rows):
    write(TABLE + "/.schema", "families open\ndrop family f\n")


def expire(rows):
    # What is older than a day is not seen, as if it had been a day.
    write(TABLE + "/.schema", "families open\nfamily f\n\tttl 1d\n")


os.mkdir(TABLE)
pairs()
each("restored", restore, REMOVE, "old\n")
each("dropped", drop, PUT, None)
young = {way: how for way, how in PUT.items() if "F/Q/TS" not in way}
each("expired", expire, young, None)
sys.exit(1 if failures else 0)
