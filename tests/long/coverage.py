#!/usr/bin/env python3
"""The branches that a build with gcov has taken: see coverage.sh.

usage: tests/long/coverage.py BUILD [AREA...]
"""
import collections
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
# What must be taken of each area; what is explained does not count.
WANTED = 0.95
AREAS = {
    "log": ["store/lsm/wal/"],
    "manifest": ["store/lsm/manifest/"],
    "recovery": ["store/lsm/admin/roll_forward.c", "store/lsm/admin/repair.c",
                 "store/lsm/admin/repair_tables.c", "store/lsm/wal/wal_recover.c",
                 "store/lsm/wal/wal_replay.c", "store/lsm/wal/wal_salvage.c",
                 "store/lsm/table/sst_salvage.c"],
    "decoders": ["store/lsm/block/block.c", "store/lsm/block/block_bare.c",
                 "store/lsm/table/sst_format.c", "store/lsm/table/sst_check.c",
                 "store/lsm/table/sst_damage.c", "store/lsm/wal/record.c",
                 "store/lsm/wal/wal_format.c",
                 "store/lsm/manifest/catalog_format.c",
                 "store/lsm/manifest/manifest_old.c",
                 "store/value/quote.c", "store/value/schema_codec.c",
                 "store/value/schema_text.c", "store/value/utf8.c",
                 "store/remote/wire.c", "store/remote/fields.c",
                 "fs/text/name.c", "fs/text/cells.c"],
    "rules": ["store/lsm/rules/"],
}


def gcov(build):
    """What gcov says of each object of store/ and fs/ that was run."""
    notes = []
    for folder, _, files in os.walk(build):
        notes += [os.path.join(folder, f) for f in files
                  if f.endswith(".gcda")
                  and f.removeprefix("meson-generated_").endswith(".c.gcda")]
    with tempfile.TemporaryDirectory() as out:
        subprocess.run(["gcov", "--json-format", "--branch-probabilities",
                        "--preserve-paths", *map(os.path.abspath, notes)],
                       cwd=out, check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        for name in os.listdir(out):
            with gzip.open(os.path.join(out, name)) as f:
                yield json.load(f)


def branches(build):
    """{file: {line: [how often each branch was taken]}}"""
    taken = collections.defaultdict(dict)
    for part in gcov(build):
        folder = part["current_working_directory"]
        for f in part["files"]:
            path = os.path.relpath(os.path.join(folder, f["file"]), ROOT)
            if not path.startswith(("store/", "fs/")):
                continue
            for line in f["lines"]:
                counts = [b["count"] for b in line["branches"]]
                was = taken[path].get(line["line_number"])
                if was and len(was) == len(counts):
                    counts = [a + b for a, b in zip(was, counts)]
                if counts:
                    taken[path][line["line_number"]] = counts
    return taken


def reasons():
    """[(beginning of a path, pattern of a line, why a branch there is not taken)]"""
    found = []
    with open(os.path.join(HERE, "uncovered.tsv"), encoding="utf-8") as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                path, pattern, why = line.rstrip("\n").split("\t")
                found.append((path, re.compile(pattern), why))
    return found


def conditions(text):
    """Where each condition of a line begins and ends."""
    ends = [m.start() for m in re.finditer(r"&&|\|\|", text)] + [len(text)]
    return list(zip([0] + ends[:-1], ends))


def explained_of(known, path, text, counts):
    """{reason: how many of the branches not taken it explains}

    A reason that holds for any file is one of a condition: of the two ways out of
    that one it explains the one not taken, and neither where the condition was never
    met. Of a file's own the reason is one of the line.
    """
    left = sum(c == 0 for c in counts)
    for begin, pattern, why in known:
        if begin and path.startswith(begin) and pattern.search(text):
            return {why: left}
    found = collections.Counter()
    spans = conditions(text)
    ways = list(zip(counts[0::2], counts[1::2]))
    for (begin, end), way in zip(spans, ways if len(ways) == len(spans) else []):
        why = next((why for path_, pattern, why in known if not path_ and any(
            begin <= m.start() < end for m in pattern.finditer(text))), None)
        if why and any(way) and not all(way):
            found[why] += 1
    if len(counts) % 2 or len(ways) != len(spans):
        # A switch, or a condition that has others in it.
        why = next((why for path_, pattern, why in known
                    if not path_ and pattern.search(text)), None)
        if why and any(counts) and left:
            found[why] += 1
    return found


def main():
    taken = branches(sys.argv[1])
    known = reasons()
    used = collections.Counter()
    bad = False
    for area in sys.argv[2:] or AREAS:
        total = covered = explained = 0
        for path in sorted(p for p in taken if p.startswith(tuple(AREAS[area]))
                           and p.endswith(".c")):
            with open(os.path.join(ROOT, path), encoding="utf-8") as f:
                source = f.read().split("\n")
            here = [c for counts in taken[path].values() for c in counts]
            ok = sum(c > 0 for c in here)
            print(f"{area:9} {100 * ok / len(here):5.1f} %  {ok:5} of {len(here):5}"
                  f"  {path}")
            total += len(here)
            covered += ok
            for number, counts in sorted(taken[path].items()):
                left = sum(c == 0 for c in counts)
                if not left:
                    continue
                text = source[number - 1].strip()
                because = explained_of(known, path, text, counts)
                used.update(because)
                explained += sum(because.values())
                if left > sum(because.values()):
                    ways = "".join("01"[c > 0] for c in counts)
                    print(f"    {path}:{number}: {ways}: {text}")
        if not total:
            print(f"{area}: nothing was run")
            bad = True
            continue
        part = covered / total
        print(f"{area}: {100 * part:.1f} % of {total} branches taken, {explained} more "
              f"explained: {100 * (covered + explained) / total:.1f} %"
              + (f", wanted {100 * WANTED:.0f} % taken" if part < WANTED else "")
              + "\n")
        bad |= part < WANTED
    for reason, n in used.most_common():
        print(f"explained {n}: {reason}")
    return bad


sys.exit(main())
