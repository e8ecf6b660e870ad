#!/usr/bin/env python3
"""F:Q after a write by any other path is what it shows from then on, as are names.

usage: aliases.py MOUNT CELLCTL ROUNDS

The kernel believes F:Q for long. Each way to put and each way to delete is
taken while it does: the next call of the same thread, with nothing in between,
must see the present value, its size and its time, or nothing. Half of the
rounds have F:Q open, which shows what it showed. The kernel keeps the names of
a row, a family and a column as well: they are those that .put shows, of which it
keeps nothing. Some rounds have these directories open, half read.
"""
import os
import subprocess
import sys

mount, cellctl, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
table = os.path.join(mount, "T")
row = os.path.join(table, "R")
column = os.path.join(row, "f", "q")
alias = os.path.join(row, "f:q")
clock = 4102444800000  # in a year of no ttl


def write(path, text, flags=os.O_CREAT | os.O_TRUNC):
    fd = os.open(path, os.O_WRONLY | flags, 0o644)
    os.write(fd, text.encode())
    os.close(fd)


def stamp():
    global clock
    clock += 1000
    return clock


def run(*command):
    subprocess.run([cellctl, *command], check=True, stdout=subprocess.DEVNULL)


def lines(path, *fields):
    write(path, "\t".join(fields) + "\n", 0)


def by_version(text):
    write(f"{column}/{stamp()}", text)


def by_latest(text):
    write(f"{column}/latest", text)


def by_put_alias(text):
    write(f"{table}/.put/R/f:q", text)


def by_put_latest(text):
    write(f"{table}/.put/R/f/q/latest", text)


def by_append(text):
    """Nothing is there, or what is there is longer after it."""
    if os.path.exists(alias):
        os.unlink(alias)
    write(f"{column}/latest", text[:1], os.O_CREAT | os.O_APPEND)
    warm()
    write(f"{column}/latest", text[1:], os.O_APPEND)


def by_truncate(text):
    write(f"{column}/latest", text + "more")
    warm()
    os.truncate(f"{column}/latest", len(text))


def by_temp(text):
    write(f"{row}/.q.tmp", text)
    os.rename(f"{row}/.q.tmp", alias)


def by_temp_version(text):
    write(f"{column}/.q.tmp", text)
    os.rename(f"{column}/.q.tmp", f"{column}/{stamp()}")


def by_column(text):
    """Versions keep their timestamps, so any in the way go first."""
    os.unlink(alias)
    write(f"{row}/f:p", text)
    os.rename(f"{row}/f:p", alias)


def by_stage(text):
    os.makedirs(f"{table}/.stage/R/f/q")
    os.path.exists(f"{table}/.stage/R/f:q")
    write(f"{table}/.stage/R/f/q/latest", text)
    os.rename(f"{table}/.stage/R", row)


def by_stream(text):
    lines(f"{table}/.cells", "R", "f:q", "", text)


def by_row_stream(text):
    lines(f"{row}/.cells", "R", "f:q", str(stamp()), text)


def by_program(text):
    run("put", mount, "T", "R", "f:q", text)


puts = [f for name, f in list(globals().items()) if name.startswith("by_")]


def to_one():
    """Leaves the column one version, which is returned."""
    names = os.listdir(column)
    for name in names[1:]:
        os.unlink(f"{column}/{name}")
    warm()
    return names[0]


def no_version():
    os.unlink(f"{column}/{to_one()}")


def no_latest():
    to_one()
    os.unlink(f"{column}/latest")


def no_put_alias():
    os.unlink(f"{table}/.put/R/f:q")


def no_cell():
    lines(f"{table}/.cells", "R", "f:q", to_one(), "", "delete")


def no_column():
    lines(f"{table}/.cells", "R", "f:q", "", "", "delete-column")


def no_family():
    lines(f"{table}/.cells", "R", "f:", "", "", "delete-family")


def no_row():
    lines(f"{table}/.cells", "R", "", "", "", "delete-row")


def no_more_here():
    """It is another column's."""
    os.rename(f"{column}/{to_one()}", f"{row}/f:p")


def no_program():
    run("deleteall", mount, "T", "R", "f:q")


def no_program_row():
    run("deleteall", mount, "T", "R")


def no_truncate():
    run("truncate", mount, "T")


deletes = [f for name, f in list(globals().items()) if name.startswith("no_")]


def warm():
    """The kernel believes it, if there is anything to believe."""
    for _ in range(2):
        try:
            os.stat(alias)
        except FileNotFoundError:
            pass


def present(text):
    st = os.stat(alias)
    with open(alias, encoding="utf-8") as f:
        value = f.read()
    newest = os.listdir(column)[0]
    assert value == text, (value, text)
    assert st.st_size == len(text), (st.st_size, text)
    assert st.st_nlink == 1, st
    assert st.st_mtime_ns == int(newest) * 10**6, (st.st_mtime_ns, newest)
    assert os.stat(alias).st_mtime_ns == st.st_mtime_ns


def gone(first):
    """By one of these calls, then by the others."""
    calls = [
        lambda: os.stat(alias),
        lambda: os.close(os.open(alias, os.O_RDONLY)),
        lambda: os.close(os.open(alias, os.O_WRONLY)),
        lambda: os.truncate(alias, 1),
        lambda: (_ for _ in ()).throw(FileNotFoundError)
        if not os.access(alias, os.F_OK)
        else None,
    ]
    for i in range(len(calls)):
        try:
            calls[(first + i) % len(calls)]()
        except FileNotFoundError:
            continue
        raise AssertionError(f"call {(first + i) % len(calls)} finds it")


def names(top):
    """Of the row, the family and the column below @top, as far as they are."""
    found = []
    for below in ("R", "R/f", "R/f/q"):
        try:
            found.append(sorted(os.listdir(f"{top}/{below}")))
        except FileNotFoundError:
            found.append([])
    return found


def hold_directories():
    """Each is open, and its first name read."""
    held = []
    for path in (row, f"{row}/f", column):
        try:
            held.append(os.scandir(path))
            next(held[-1], None)
        except FileNotFoundError:
            pass
    return held


def attempt(what, round_no, act, check):
    held = hold_directories() if round_no % 2 else []
    try:
        for _ in range(2):
            names(table)
        act()
        for _ in range(2):
            kept, asked = names(table), names(f"{table}/.put")
            assert kept == asked, (kept, asked)
        check()
        for directory in held:
            directory.close()
    except (AssertionError, OSError) as e:
        sys.exit(f"round {round_no}: {what}: {e!r}")


def main():
    n = 0
    for round_no in range(rounds):
        for put in puts:
            for delete in deletes[round_no % 3 :: 3]:
                n += 1
                text = "x" * (1 + n % 17)
                os.makedirs(column, exist_ok=True)
                write(alias, "before")
                warm()
                held = os.open(alias, os.O_RDONLY) if n % 2 else -1
                attempt(put.__name__, round_no, lambda: put(text),
                        lambda: present(text))
                warm()
                attempt(delete.__name__, round_no, delete,
                        lambda: gone(n))
                if held >= 0:
                    assert os.read(held, 100) == b"before"
                    os.close(held)
    print(f"{n} puts and deletes")


main()
