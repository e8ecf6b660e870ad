#!/usr/bin/env python3
"""The branches that a build with gcov has taken: see coverage.sh.

usage: tests/long/coverage.py BUILD [AREA...]
"""
import collections
import gzip
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
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
    """{(file, line as it is written): why a branch of it is not taken}"""
    with open(os.path.join(HERE, "uncovered.tsv"), encoding="utf-8") as f:
        return {tuple(line.rstrip("\n").split("\t")[:2]): line.split("\t")[2]
                for line in f if not line.startswith("#")}


def main():
    taken = branches(sys.argv[1])
    why = reasons()
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
                if (path, text) in why:
                    used[(path, text)] += left
                    explained += left
                else:
                    print(f"    {path}:{number}: {left} of {len(counts)}: {text}")
        if not total:
            print(f"{area}: nothing was run")
            bad = True
            continue
        part = (covered + explained) / total
        print(f"{area}: {100 * covered / total:.1f} % of {total} branches taken, "
              f"{explained} more explained: {100 * part:.1f} %\n")
        bad |= part < WANTED
    for key, n in sorted(used.items()):
        print(f"explained {n}: {key[0]}: {key[1]}: {why[key].strip()}")
    return bad


sys.exit(main())
