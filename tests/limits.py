#!/usr/bin/env python3
"""The numbers in the tables of cellfs(5) are those of the program.

usage: tests/limits.py SOURCE CELLCTL

Before each row of such a table a comment names where its number comes from:

    .\\" = NAME FILE     a constant: a #define or a member of an enum
    .\\" = .NAME FILE    what a member is initialized with
    .\\" = schema NAME   what `cellctl describe` prints of a new family
    .\\" = absent NAME   it prints nothing, which is none
    .\\" = options NAME  what a mount shows in .cellfs/options: bats/control.bats
                        compares these

A row without one is a failure, and so is a limit that the public header has and
the page has not.
"""
import os
import re
import subprocess
import sys
import tempfile

PAGE = "tools/install/cellfs.5"
# What limits.h and stdint.h say.
KNOWN = {"INT64_MAX": 2**63 - 1, "UINT32_MAX": 2**32 - 1}


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def evaluate(text, known):
    text = re.sub(r"/\*.*?(\*/|$)", "", text).replace("(size_t)", "")
    text = re.sub(r"\b(\d+)(ull|u|l)\b", r"\1", text, flags=re.I)
    names = {name: known(name) for name in re.findall(r"[A-Z_]\w+", text)}
    return eval(text, {"__builtins__": {}}, names)  # of our own source


def constant(root, name, path):
    text = read(root, path)
    if name.startswith("."):
        found = re.search(rf"\{name} = ([^,]+),", text)
    else:
        found = re.search(rf"#define {name} (.+)", text) or \
            re.search(rf"^\t{name} = ([^,]+),", text, re.M)
    if not found:
        sys.exit(f"limits: {path} has no {name}")

    def known(other):
        return KNOWN.get(other) or constant(root, other, path)
    return str(evaluate(found.group(1), known))


def defaults(cellctl):
    """What a new family has, as text."""
    with tempfile.TemporaryDirectory() as store:
        subprocess.run([cellctl, "create", store, "t", "f"], check=True)
        text = subprocess.run([cellctl, "describe", store, "t"], check=True,
                              capture_output=True, text=True).stdout
    return dict(line.split(maxsplit=1) for line in text.splitlines() if line)


def main(root, cellctl):
    bad = 0
    shown = defaults(cellctl)
    tables = re.findall(r"\.Bl -column.*?\.El", read(root, PAGE), re.S)
    named = set()
    for table in tables:
        rows = re.findall(r'(?:\.\\" = (\S+) (\S+)\n)?\.It (?!Sy)(.+?) Ta (\S+)',
                          table)
        for name, where, what, value in rows:
            if not name:
                is_value = "no source"
            elif name == "schema":
                is_value = shown.pop(where)
            elif name == "absent":
                is_value = shown.get(where, "none")
            elif name == "options":
                continue
            else:
                is_value = constant(root, name, where)
                named.add(name)
            if is_value != value:
                print(f"limits: {PAGE} says {value} of '{what}': {is_value}")
                bad += 1
    # Nothing that describe prints is left out, but names and owners.
    for name in set(shown) - {"families", "family", "uid", "gid"}:
        print(f"limits: {PAGE} does not say the default of {name}")
        bad += 1
    for path in ("store/value/cell.h", "store/value/schema.h",
                 "store/front/args.h"):
        for name in re.findall(r"#define (\w+_MAX) ", read(root, path)):
            if name not in named:
                print(f"limits: {PAGE} has no {name} of {path}")
                bad += 1
    for member, value in re.findall(r"^\t\t\.(\w+) = (\w+)",
                                    read(root, "fs/report/options.c"), re.M):
        if not {"." + member, value} & named:
            print(f"limits: {PAGE} has no default of the option in {member}")
            bad += 1
    if not bad and len(named) < 20:
        sys.exit("limits: the tables were not found")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], os.path.abspath(sys.argv[2])))
