#!/usr/bin/env python3
"""Changes one operator, constant, comparison or call at a time, and asks the tests.

usage: tests/long/mutate.py DIR [--mutants N] [--seed S] [--area NAME]

A copy of the sources is built in DIR with AddressSanitizer. Each mutant is
drawn by the seed: a third in fs/, a tenth in os_posix.c, the others in store/,
most of them where changes become durable and are seen again. The tests that
concern the file run until one fails; one that hangs has failed. DIR/results has
a line of JSON a mutant, and a run with the same DIR goes on behind the last.
Those that no test found are printed at the end, and are judged by people: some
mean the same as the original.
"""
import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")

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
    (r"(?<= )(\d+)(?=[;,)])", lambda m: str(int(m.group(0)) + 1)),
    (r"^\t+[a-z_]+\([^;=]*\);$", "\t;"),
    (r"^\t+(break|continue);$", "\t;"),
]
NO_LINE = re.compile(r"^\s*(/?\*|//|#)|assert\(|^[a-z}]|\bwhy\w*\(|\blog_\w+\(")
STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"|/\*.*?\*/')

# Files of mount tests that are likely to tell, before all the others.
FIRST = ["put", "remove", "rename", "column", "drafts", "directories", "listing",
         "cells", "views", "alias", "at", "attributes"]


def run(*command, **more):
    return subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **more)


def copy_sources(to):
    if not os.path.isdir(os.path.join(to, "tests")):
        names = subprocess.run(["git", "-C", ROOT, "ls-files"], check=True,
                               stdout=subprocess.PIPE, text=True).stdout
        os.makedirs(to, exist_ok=True)
        run("cpio", "-pdm", "--quiet", os.path.abspath(to), cwd=ROOT,
            input=names.encode())
        run("meson", "setup", "build-asan", "-Dbuildtype=debugoptimized",
            "-Db_sanitize=address,undefined", "-Db_lundef=false", cwd=to)
    run("ninja", "-C", os.path.join(to, "build-asan"))


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


class Tests:
    """What concerns a file, the likeliest first: names and commands."""

    def __init__(self, copy):
        self.copy = copy
        self.build = os.path.join(copy, "build-asan")
        found = subprocess.run(["meson", "introspect", self.build, "--tests"],
                               check=True, stdout=subprocess.PIPE, text=True)
        self.programs = {t["name"]: t for t in json.loads(found.stdout)}
        self.includes = {}
        for name in self.programs:
            source = os.path.join(copy, "tests", "unit", name + ".c")
            if os.path.isfile(source):
                with open(source, encoding="utf-8") as f:
                    self.includes[name] = f.read()

    def program(self, name):
        t = self.programs[name]
        target = os.path.relpath(t["cmd"][0], self.build)
        return name, target, t["cmd"], t.get("env", {})

    def concerning(self, path):
        module = os.path.splitext(path)[0]
        room = os.path.dirname(path)
        near = [n for n, text in self.includes.items()
                if module + ".h" in text or n == os.path.basename(module)]
        far = [n for n, text in self.includes.items()
               if room + "/" in text and n not in near]
        for name in near + far:
            yield self.program(name)
        if path.startswith("store/"):
            far = [n for n, text in self.includes.items()
                   if "store/store.h" in text and n not in near + far]
            for name in ["hbase", "hbase-flush", "hbase-compact", "model", *far,
                         "model-classic", "crash", "crash-faults",
                         "model-threads"]:
                yield self.program(name)
        files = sorted(n[:-5] for n in
                       os.listdir(os.path.join(self.copy, "tests", "bats"))
                       if n.endswith(".bats"))
        if not path.startswith("fs/") and "os_posix" not in path:
            files = []
        for name in sorted(files, key=lambda n: (n not in FIRST, n)):
            yield ("bats " + name, "fs/cellfs",
                   ["bats", os.path.join(self.copy, "tests/bats",
                                         name + ".bats")],
                   {"BUILD": self.build})


def ends_with_0(command, env, copy):
    tmp = os.path.join(copy, "tmp")
    os.makedirs(tmp, exist_ok=True)
    with open(os.path.join(copy, "log"), "wb") as log:
        p = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log,
                             stderr=log, start_new_session=True,
                             env={**os.environ, **env, "TMPDIR": tmp})
        try:
            code = p.wait(400)
        except subprocess.TimeoutExpired:
            code = -1
    try:
        os.killpg(p.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    if code:
        clean_up(copy, tmp)
    return code == 0


def clean_up(copy, tmp):
    """Daemons and mounts that a test has left behind."""
    subprocess.run(["pkill", "-KILL", "-f", "^" + os.path.abspath(copy)],
                   check=False)
    with open("/proc/self/mounts", encoding="utf-8") as f:
        mounts = [line.split()[1] for line in f if tmp in line.split()[1]]
    for m in reversed(mounts):
        subprocess.run(["umount", "-l", m], check=False)
    shutil.rmtree(tmp, ignore_errors=True)


def judge(tests, copy, path):
    """Which test finds what is wrong with the file: a name, None, or "build"."""
    ninja = ["ninja", "-C", tests.build]
    if subprocess.run([*ninja, "fs/cellfs", "tools/cellctl"], check=False,
                      stdout=subprocess.DEVNULL).returncode:
        return "build"
    for name, target, command, env in tests.concerning(path):
        run(*ninja, target)
        if not ends_with_0(command, env, copy):
            return name
    return None


def draw(rng, files, area):
    areas = [area] if area else [a for a, (n, _) in AREAS.items()
                                 for _ in range(n)]
    prefixes = AREAS[rng.choice(areas)][1]
    while True:
        path = rng.choice([f for f in files if f.startswith(tuple(prefixes))])
        sites = list(sites_of(path))
        if sites:
            return path, rng.choice(sites)


def mutate(path, site):
    number, begin, end, to = site
    with open(path, encoding="utf-8") as f:
        whole = f.read()
    lines = whole.split("\n")
    was = lines[number]
    lines[number] = was[:begin] + to + was[end:]
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(lines))
    return whole, was.strip(), lines[number].strip()


def report(results):
    real = [r for r in results if r["by"] != "build"]
    for name in AREAS:
        of = [r for r in real
              if r["file"].startswith(tuple(AREAS[name][1]))]
        if of:
            found = sum(r["by"] is not None for r in of)
            print(f"{name}: {found} of {len(of)} found")
    for r in real:
        if r["by"] is None:
            print(f'{r["file"]}:{r["line"]}: {r["was"]}  ->  {r["now"]}')


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("dir")
    p.add_argument("--mutants", type=int, default=1000)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--area", choices=AREAS)
    a = p.parse_args()
    copy_sources(a.dir)
    os.chdir(a.dir)
    files = sorted(subprocess.run(["git", "-C", ROOT, "ls-files", "*.c"],
                                  check=True, stdout=subprocess.PIPE,
                                  text=True).stdout.split())
    tests = Tests(os.getcwd())
    results = []
    if os.path.exists("results"):
        with open("results", encoding="utf-8") as f:
            results = [json.loads(line) for line in f]
    for i in range(a.mutants):
        if i < len(results):
            continue
        path, site = draw(random.Random(a.seed * 1000003 + i), files, a.area)
        whole, was, now = mutate(path, site)
        began = time.monotonic()
        by = judge(tests, os.getcwd(), path)
        with open(path, "w", encoding="utf-8") as f:
            f.write(whole)
        results.append({"n": i, "file": path, "line": site[0] + 1, "was": was,
                        "now": now, "by": by,
                        "seconds": round(time.monotonic() - began)})
        with open("results", "a", encoding="utf-8") as f:
            f.write(json.dumps(results[-1]) + "\n")
        print(f"{i}: {path}:{site[0] + 1}: {by or 'NOT FOUND'}", flush=True)
    report(results)
    return 0


sys.exit(main())
