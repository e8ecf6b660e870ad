#!/usr/bin/env python3
"""Changes one operator, constant, comparison or call at a time, and asks the tests.

usage: tests/long/mutate.py DIR [--mutants N] [--seed S] [--area NAME]...
                            [--bats FILE,...] [--seconds S] [--again]

DIR, in memory best and not below /tmp, gets a copy of the sources with three
builds. One notes once what each test costs and which blocks of code it runs. Each
mutant is drawn by the seed: a third in fs/, a tenth in os_posix.c, the others in
store/, most of them where changes become durable and are seen again. The tests
that run its block then have it, the cheap and likely ones first, until one fails;
one that hangs has failed. What a release build does not find a build with
AddressSanitizer is asked again, by the likeliest few. DIR/results has a line of
JSON a mutant, and a run with the same DIR goes on behind the last. What no test
found is printed at the end, and people judge it: what means the same as the original
has its line, and why, in equivalent.tsv and is counted apart, as is what compiles to
the same code.
--bats names the only files of tests/bats that are asked; without it all are.
--seconds is what the tests that a mutant is asked may have cost when they were
noted, and the build with AddressSanitizer is not asked. --again asks those that no
test found then, that build too.
"""
import argparse
import collections
import glob
import json
import os
import random
import re
import signal
import subprocess
import sys
import time

from mutate_tests import Tests

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

# Of 30 mutants, how many are drawn from the files that begin so.
AREAS = {
    "fs": (10, ["fs/"]),
    "os": (3, ["store/os/os_posix"]),
    "durable": (8, ["store/lsm/wal/", "store/lsm/manifest/", "store/lsm/state/",
                    "store/lsm/background/", "store/lsm/write/"]),
    "seen": (7, ["store/lsm/rules/", "store/lsm/read/", "store/lsm/merge/",
                 "store/lsm/compaction/", "store/lsm/mem/"]),
    "rest": (2, ["store/lsm/table/", "store/lsm/block/", "store/value/",
                 "store/front/", "store/filter/"]),
}

# How many tests are linked and asked at first.
FIRST = 8
# The builds, and how many tests of each are asked.
KINDS = [("plain", None), ("asan", 5)]


def one_more(number):
    octal = len(number) > 1 and number[0] == "0"
    return f"0{int(number, 8) + 1:o}" if octal else str(int(number) + 1)


# What is changed, to what. Operators have blanks around them in this style.
CHANGES = [
    (r" == ", " != "), (r" != ", " == "),
    (r" <= ", " < "), (r" >= ", " > "), (r" < ", " <= "), (r" > ", " >= "),
    (r" \+ ", " - "), (r" - ", " + "), (r" \+= ", " -= "), (r" -= ", " += "),
    (r" && ", " || "), (r" \|\| ", " && "), (r" \| ", " & "), (r" & ", " | "),
    (r" << ", " >> "), (r" >> ", " << "),
    (r"\btrue\b", "false"), (r"\bfalse\b", "true"),
    (r"(?<=[ (])!(?=[a-z(])", ""),
    (r"(?<=return )0(?=;)", "1"), (r"(?<=return )1(?=;)", "0"),
    (r"(?<=return )r(?=;)", "0"),
    (r"(?<= )(\d+)(?=[;,)])", lambda m: one_more(m.group(0))),
    (r"^\t+[a-z_]+\([^;=]*\);$", "\t;"),
    (r"^\t+(break|continue);$", "\t;"),
]
NO_LINE = re.compile(r"^\s*(/?\*|//|#)|assert\(|^[a-z}]|\bwhy\w*\(|\blog_\w+\(")
STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"|/\*.*?\*/')

def copy_sources(to):
    if not os.path.isdir(os.path.join(to, "tests")):
        names = subprocess.run(["git", "-C", ROOT, "ls-files"], check=True,
                               stdout=subprocess.PIPE).stdout
        os.makedirs(to, exist_ok=True)
        subprocess.run(["cpio", "-pdm", "--quiet", os.path.abspath(to)], cwd=ROOT,
                       input=names, check=True)


def sites_of(path):
    """(line, begin, end, what stands there instead) of all changes."""
    with open(path, encoding="utf-8") as f:
        lines = f.read().split("\n")
    for number, line in enumerate(lines):
        if NO_LINE.search(line):
            continue
        bare = STRINGS.sub(lambda m: "\0" * len(m.group(0)), line)
        for pattern, to in CHANGES:
            for m in re.finditer(pattern, bare):
                yield (number, m.start(), m.end(),
                       to(m) if callable(to) else to)


def judge(tests, path, site, source, learnt, seconds, kinds):
    """What finds a change: a test, or "build", "same", "unreached", None."""
    source.change()
    if not tests.ninja("plain", *tests.objects[path]):
        return "build"
    if tests.code_of(path) == tests.code[path]:
        return "same"
    if not tests.runs("plain", path, site[0] + 1, learnt, seconds):
        return "unreached"
    for kind, asked in kinds:
        while True:
            runs = tests.runs(kind, path, site[0] + 1, learnt,
                              seconds)[:asked]
            by = (tests.first_that_fails(kind, runs[:FIRST])
                  or tests.first_that_fails(kind, runs[FIRST:]))
            if by is None:
                break
            name = by.split(":")[0]
            if (kind, name) in tests.good:
                return by
            source.restore()
            one = [r for r in runs if r.name == name]
            good = tests.first_that_fails(kind, one) is None
            source.change()
            if good:
                tests.good.add((kind, name))
                return by
            tests.forget(name)
    return None


def draw(rng, files, of, seen):
    areas = [a for a in of for _ in range(AREAS[a][0])]
    prefixes = tuple(AREAS[rng.choice(areas)][1])
    while True:
        path = rng.choice([f for f in files if f.startswith(prefixes)])
        sites = list(sites_of(path))
        site = rng.choice(sites) if sites else None
        if site and (path, site) not in seen:
            return path, site


class Source:
    """A source file, whole or changed at one site."""

    def __init__(self, path, site):
        self.path = path
        with open(path, encoding="utf-8") as f:
            self.whole = f.read()
        number, begin, end, to = site
        lines = self.whole.split("\n")
        self.was = lines[number].strip()
        lines[number] = lines[number][:begin] + to + lines[number][end:]
        self.now = lines[number].strip()
        self.changed = "\n".join(lines)

    def write(self, text):
        with open(self.path, "w", encoding="utf-8") as f:
            f.write(text)

    def change(self):
        self.write(self.changed)

    def restore(self):
        self.write(self.whole)


def equivalent():
    with open(os.path.join(HERE, "equivalent.tsv"), encoding="utf-8") as f:
        return {tuple(line.split("\t")[:3]) for line in f
                if not line.startswith("#")}


def verdict(result, same):
    known = {"build": "build", "same": "same code"}
    if result["by"] not in (None, "unreached"):
        return known.get(result["by"], "found")
    key = (result["file"], result["was"], result["now"])
    return "equivalent" if key in same else "not found"


def report(results):
    same = equivalent()
    count = collections.defaultdict(collections.Counter)
    for r in results:
        area = next(a for a, (_, of) in AREAS.items()
                    if r["file"].startswith(tuple(of)))
        count[area][verdict(r, same)] += 1
    for area, of in count.items():
        print(f"{area}: " + ", ".join(f"{n} {word}" for word, n in
                                      sorted(of.items())))
    for r in results:
        if verdict(r, same) == "not found":
            print(f'{r["file"]}:{r["line"]}: {r["was"]}  ->  {r["now"]}'
                  + " (no test runs it)" * (r["by"] == "unreached"))


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("dir")
    p.add_argument("--mutants", type=int, default=1000)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--area", choices=AREAS, action="append")
    p.add_argument("--bats", type=lambda s: s.split(","), metavar="FILE,...")
    p.add_argument("--seconds", type=float)
    p.add_argument("--again", action="store_true")
    a = p.parse_args()
    copy_sources(a.dir)
    os.chdir(a.dir)
    files = sorted(glob.glob("store/**/*.c", recursive=True)
                   + glob.glob("fs/**/*.c", recursive=True))
    results = {}
    if os.path.exists("results"):
        with open("results", encoding="utf-8") as f:
            results = {r["n"]: r for r in map(json.loads, f)}
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    # Who runs in the background ignores them, and daemons under test would too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    tests = None
    same = equivalent()
    seen = set()
    for i in range(a.mutants):
        path, site = draw(random.Random(a.seed * 1000003 + i), files,
                          a.area or list(AREAS), seen)
        seen.add((path, site))
        if i in results and not (a.again and
                                 verdict(results[i], same) == "not found"):
            continue
        tests = tests or Tests(os.getcwd(), a.bats, files)
        source = Source(path, site)
        began = time.monotonic()
        learnt = collections.Counter()
        for r in results.values():
            learnt[(r["by"] or "").split(":")[0]] += (
                10 if r["file"] == path else
                3 if os.path.dirname(r["file"]) == os.path.dirname(path) else 1)
        try:
            by = judge(tests, path, site, source, learnt,
                       float("inf") if a.seconds is None else a.seconds,
                       KINDS if a.again or a.seconds is None else KINDS[:1])
        finally:
            source.restore()
        results[i] = {"n": i, "file": path, "line": site[0] + 1,
                      "was": source.was, "now": source.now, "by": by,
                      "seconds": round(time.monotonic() - began)}
        with open("results", "a", encoding="utf-8") as f:
            f.write(json.dumps(results[i]) + "\n")
        print(f"{i}: {path}:{site[0] + 1}: {by or 'NOT FOUND'}", flush=True)
    report(results.values())
    return 0


sys.exit(main())
