#!/usr/bin/env python3
"""The rooms of the source, and who may use whom.

usage: tests/layering.py SOURCE BUILD

A room is a folder of store/, fs/ or tools/. It uses another when one of its
objects needs a symbol that the other defines (nm), or one of its files includes
one of the other's. Both must be in the table below, in which a room stands
behind all that it may use: so no arrow goes back, and none in a circle. A new
arrow is written here first.

Further: each source is in a room of the table; a room has MODULES_MAX modules at
most (a .c and its .h are one) and a README.md that says what it may use, as the
table does, and names each module; of the headers of store/ the mount and the tools
include those of SHARED, which together are the private header of the store, and
no other; what is public, in include/, is included by store/library alone and
includes nothing of the project's.
"""
import collections
import json
import os
import re
import subprocess
import sys

# A room, and behind it the last parts of the names of those that it may use.
ROOMS = """
store/value
store/os		value
store			value
store/filter		value store
store/front		value os store

store/lsm/base		value os
store/lsm/rules		value base
store/lsm/wal		value os base
store/lsm/block		value os base
store/lsm/table		value os base block
store/lsm/mem		value os base block
store/lsm/merge		value base
store/lsm/manifest	value os store front base wal table
store/lsm/compaction	value os base rules table merge manifest
store/lsm/state		value os front base rules wal table mem manifest compaction
store/lsm/read		value os filter base rules block table mem merge manifest
			state
store/lsm/background	value os base wal table mem manifest compaction state
store/lsm/write		value os rules wal mem manifest state read background
store/lsm/admin		value os store front base rules wal block table mem merge
			manifest compaction state read background write
store/remote		value os store filter front
store/hbase/wire	value
store/hbase/cellblock	value
store/hbase/transport	value os wire
store/hbase/connection	value os wire transport
store/hbase/cluster	value os wire cellblock transport connection
store/hbase/filters	value filter wire
store/hbase/calls	value os wire cellblock transport connection cluster
store/hbase/master	value os wire transport connection cluster calls
store/hbase/backend	value os store filter front wire cellblock transport
			connection cluster filters calls master
store/open		value os store front admin backend
store/library		value store filter front open

fs/text			value store front
fs/host			value os
fs/kernel		value os store front text host
fs/report		value os store
fs/memory		value os text kernel
fs/tree			value os store front text kernel report memory
fs/control		value store front host kernel report memory tree
fs/change		value store front text kernel report memory tree
fs/files		value os store front remote text kernel report memory tree
			control change
fs/look			value store front text kernel memory tree change files
fs/ops			value os store front text kernel report memory tree change
			files look
fs			value store front open host kernel report tree control
			files ops

tools/progress		value os
tools/bench		value os store front open host progress
tools/mounts		kernel
tools/hbase		value store front open
tools/backup		value store front open host
tools/shell		value store
tools/line		value store filter front open remote text host progress
			shell
tools/feed		value store front text progress line shell
tools/shape		value store front
tools/watch		value
tools			value os store front open text host progress line feed
			shell backup watch shape
"""

# Arrows that go back all the same: (file that uses, file that is used): why.
ALLOWED = {}

# What the mount and the tools are given of the store: more than programs that
# embed it (include/cellfs.h) by what only they need, and by what costs no copy.
SHARED = {
    "store/store.h",  # each call of the vtable, and its knobs
    "store/keys.h",  # a process that leaves no core dump
    "store/hold.h",  # the files of one moment, for a backup
    "store/served.h",  # a store that this process serves to others
    "store/filter/filter.h",  # filters as text
    "store/value/array.h", "store/value/bytes.h", "store/value/cell.h",
    "store/value/schema.h", "store/value/utf8.h", "store/value/why.h",
    "store/value/sanitizer.h",
    "store/os/thread.h", "store/os/clock.h", "store/os/patience.h",
    "store/front/latency.h",
}
# The headers that are installed, and who implements them.
PUBLIC, PUBLIC_BY = "include/", "store/library"

MODULES_MAX = 15


def fail(text):
    print("layering: " + text, file=sys.stderr)
    fail.seen = True


fail.seen = False


def read_rooms():
    """{room: the rooms it may use}, in order."""
    rooms = {}
    names = {}
    for line in re.sub(r"\n\t+", " ", ROOMS).split("\n"):
        if not line.strip():
            continue
        room, *uses = line.split()
        for name in uses:
            if name not in names:
                sys.exit(f"layering: {room} may not use {name}, which is no "
                         "room above it")
        rooms[room] = {names[name] for name in uses}
        names[os.path.basename(room)] = room
    return rooms


def sources(root):
    found = []
    for top in ("store", "fs", "tools"):
        for folder, _, files in os.walk(os.path.join(root, top)):
            found += [os.path.relpath(os.path.join(folder, f), root)
                      for f in files if f.endswith((".c", ".h"))]
    return sorted(found)


def uses_line(rooms, room):
    names = [os.path.basename(r) for r in rooms if r in rooms[room]]
    return "May use: " + (", ".join(names) or "no other room") + "."


def check_readme(root, rooms, room, modules):
    path = os.path.join(root, room, "README.md")
    if not os.path.exists(path):
        return fail(f"{room}/ has no README.md")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if uses_line(rooms, room) not in re.sub(r"\n(?=\S)", " ", text):
        fail(f'{room}/README.md has no line "{uses_line(rooms, room)}"')
    for name in sorted(modules):
        if f"`{name}`" not in text:
            fail(f"{room}/README.md does not name `{name}`")


def check_rooms(root, rooms, files):
    modules = collections.defaultdict(set)
    for f in files:
        modules[os.path.dirname(f)].add(os.path.basename(f)[:-2])
    for room in sorted(modules):
        if room not in rooms:
            fail(f"{room}/ is no room of the table in tests/layering.py")
        elif len(modules[room]) > MODULES_MAX:
            fail(f"{room}/ has {len(modules[room])} modules, more than "
                 f"{MODULES_MAX}: split it")
    for room in rooms:
        if room not in modules:
            fail(f"{room}/ is in the table and has no sources")
        else:
            check_readme(root, rooms, room, modules[room])


def arrow(rooms, user, used, what):
    a, b = os.path.dirname(user), os.path.dirname(used)
    if a != b and b not in rooms.get(a, ()) and (user, used) not in ALLOWED:
        fail(f"{user} uses {used} ({what}), and {a}/ may not use {b}/")


def check_includes(root, rooms, files):
    pattern = re.compile(r'^#include "((?:store|fs|tools|include)/[^"]+)"',
                         re.M)
    shared = set()
    for f in files:
        with open(os.path.join(root, f), encoding="utf-8") as text:
            for used in pattern.findall(text.read()):
                if used.startswith(PUBLIC):
                    if os.path.dirname(f) != PUBLIC_BY:
                        fail(f"{f} includes {used}, which is for others")
                    continue
                arrow(rooms, f, used, "include")
                if used.startswith("store/") and not f.startswith("store/"):
                    shared.add(used)


    check_shared(root, shared)


def check_shared(root, used):
    """@used: the headers of store/ that others include."""
    for header in sorted(used - SHARED):
        fail(f"fs/ or tools/ include {header}, which is store/'s own")
    for header in SHARED:
        with open(os.path.join(root, header), encoding="utf-8") as text:
            more = set(re.findall(r'^#include "(store/.*)"', text.read(), re.M))
        used |= more
        for inside in sorted(more - SHARED):
            fail(f"{header} is shared and includes {inside}, which is not")
    for header in sorted(SHARED - used):
        fail(f"nobody includes {header}: take it out of SHARED")


def check_public(root):
    for f in sorted(os.listdir(os.path.join(root, PUBLIC))):
        with open(os.path.join(root, PUBLIC, f), encoding="utf-8") as text:
            for used in re.findall(r'^#include "(.*)"', text.read(), re.M):
                fail(f"{PUBLIC}{f} includes {used}, which is not installed")


def objects(root, build):
    """{source: its object}, of the sources of the rooms."""
    with open(os.path.join(build, "compile_commands.json"),
              encoding="utf-8") as text:
        commands = json.load(text)
    found = {}
    for c in commands:
        source = os.path.relpath(os.path.join(c["directory"], c["file"]), root)
        top = source.split("/")[0] + "/"
        # Tests compile some of them once more.
        if top in ("store/", "fs/", "tools/") and c["output"].startswith(top):
            found[source] = os.path.join(c["directory"], c["output"])
    return found


def symbols(paths):
    """{object: (what it defines, what it needs)}"""
    found = {path: (set(), set()) for path in paths}
    out = subprocess.run(["nm", "-A", *paths], check=True, capture_output=True,
                         text=True).stdout
    for line in out.splitlines():
        path, _, rest = line.partition(":")
        *_, kind, name = rest.split()
        if kind in "TDBRCVW":
            found[path][0].add(name)
        elif kind == "U":
            found[path][1].add(name)
    return found


def check_symbols(root, build, rooms, files):
    known = objects(root, build)
    for f in files:
        # What is not compiled for want of a library uses nothing, nor does
        # what would stand in its place.
        twin = (f.replace("_absent.c", ".c") if f.endswith("_absent.c")
                else f.replace(".c", "_absent.c"))
        if (f.endswith(".c") and f not in known and twin not in known
                and "/bench/on_" not in f):
            fail(f"{f} is in no object of {build}")
    built = {s: path for s, path in known.items() if os.path.exists(path)}
    for source in known.keys() - built.keys():
        fail(f"{known[source]} is not built")
    found = symbols(built.values())
    where = collections.defaultdict(list)
    needs = {}
    for source, path in built.items():
        defined, needs[source] = found[path]
        for name in defined:
            where[name].append(source)
    arrows = 0
    for source, names in sorted(needs.items()):
        top = source.split("/")[0] + "/"
        for name in sorted(names & where.keys()):
            # Two programs may have a function of the same name.
            near = [s for s in where[name] if s.startswith(top)]
            arrow(rooms, source, (near or where[name])[0], name)
            arrows += 1
    if not arrows:
        fail(f"no object of {build} uses another: nm has not shown any")


def main():
    root, build = (os.path.realpath(a) for a in sys.argv[1:3])
    rooms = read_rooms()
    files = sources(root)
    check_rooms(root, rooms, files)
    check_includes(root, rooms, files)
    check_public(root)
    check_symbols(root, build, rooms, files)
    return 1 if fail.seen else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main())
