#!/usr/bin/env python3
"""Draws the JSON of `cellfs-bench` or of `tools/bench-mount` as an SVG.

usage: bench-plot.py BENCH.json... > BENCH.svg

Of several files, of parts of the workloads on as many cells, the first says
which engines there are. A row a workload, a dot an engine. The scale is
logarithmic and relative to the best LSM peer of that row (RocksDB, LevelDB), or
to the filesystem that does nothing but FUSE, so that right is better in all
rows: costs such as bytes or seconds are turned around. The tick in a row is what
was wanted of cellfs.
"""
import html
import json
import math
import statistics
import sys

COLOURS = {
    "cellfs": "#c2410c",
    "rocksdb": "#1d4ed8",
    "leveldb": "#0891b2",
    "lmdb": "#15803d",
    "sqlite": "#7c3aed",
    "null": "#1d4ed8",
    "ext4": "#15803d",
    "bindfs": "#7c3aed",
    "tmpfs": "#777777",
}
PEERS = ("rocksdb", "leveldb", "null")
LABELS, WIDTH, ROW, TOP = 190, 620, 18, 64
LOW, HIGH = 0.02, 200.0


def better(workload, value):
    return 1 / value if workload["less_is_better"] else value


def ratios(workload):
    """Engine -> its figure over that of the best peer."""
    figures = {
        name: better(workload, e["median"])
        for name, e in workload["engines"].items()
        if e["median"] > 0
    }
    peers = [figures[name] for name in PEERS if name in figures]
    if not peers:
        return {}
    return {name: v / max(peers) for name, v in figures.items()}


def place(ratio):
    """The x of a ratio; what is off the scale lies at its edge."""
    inside = min(max(ratio, LOW), HIGH)
    return LABELS + WIDTH * math.log(inside / LOW) / math.log(HIGH / LOW)


def text(x, y, what, more=""):
    return f'<text x="{x:.0f}" y="{y:.0f}" {more}>{html.escape(what)}</text>'


def axis(height):
    for ratio in (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200):
        x = place(ratio)
        colour = "#555" if ratio == 1 else "#ddd"
        yield (
            f'<line x1="{x:.1f}" y1="{TOP - 6}" x2="{x:.1f}" '
            f'y2="{height - 8}" stroke="{colour}"/>'
        )
        yield text(x, TOP - 10, f"{ratio:g}x", 'text-anchor="middle"')


def legend(engines):
    x = LABELS
    for e in engines:
        yield f'<circle cx="{x}" cy="22" r="5" fill="{COLOURS[e["name"]]}"/>'
        yield text(x + 9, 26, f'{e["name"]} {e["version"]}')
        x += 125


def row(workload, y):
    yield text(LABELS - 10, y + 4, workload["name"], 'text-anchor="end"')
    yield (
        f'<line x1="{LABELS}" y1="{y}" x2="{LABELS + WIDTH}" y2="{y}" '
        'stroke="#eee"/>'
    )
    wanted = workload["wanted_lsm"]
    if wanted > 0:
        x = place(better(workload, wanted))
        yield (
            f'<line x1="{x:.1f}" y1="{y - 7}" x2="{x:.1f}" y2="{y + 7}" '
            f'stroke="{COLOURS["cellfs"]}" stroke-width="2"/>'
        )
    found = ratios(workload)
    for name in sorted(found, key=lambda n: n == "cellfs"):
        radius = 5.5 if name == "cellfs" else 4
        yield (
            f'<circle cx="{place(found[name]):.1f}" cy="{y}" r="{radius}" '
            f'fill="{COLOURS[name]}"><title>{name} {found[name]:.2f}x'
            "</title></circle>"
        )


def draw(bench):
    workloads = [w for w in bench["workloads"] if ratios(w)]
    height = TOP + ROW * len(workloads) + 20
    width = LABELS + WIDTH + 30
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
        f'height="{height}" font-family="sans-serif" font-size="12">'
    )
    yield f'<rect width="{width}" height="{height}" fill="white"/>'
    if bench["cells"]:
        yield text(10, 26, f'{bench["cells"]:,} cells')
    yield from legend(bench["engines"])
    yield from axis(height)
    for i, workload in enumerate(workloads):
        yield from row(workload, TOP + ROW * i + 8)
    yield "</svg>"


def of_mounts(results):
    """What bench-mount has measured, in the form of cellfs-bench, but for other
    builds and options."""
    workloads = [
        {
            "name": label,
            "less_is_better": True,
            "wanted_lsm": 0,
            "engines": {
                name: {"median": statistics.median(r["us"] for r in runs)}
                for name, runs in targets.items()
                if name in COLOURS
            },
        }
        for label, targets in results.items()
    ]
    names = [n for n in COLOURS if any(n in w["engines"] for w in workloads)]
    return {
        "cells": 0,
        "engines": [{"name": n, "version": ""} for n in names],
        "workloads": workloads,
    }


def load(path):
    with open(path, encoding="utf-8") as f:
        bench = json.load(f)
    return bench if "workloads" in bench else of_mounts(bench)


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__.strip())
    bench = load(sys.argv[1])
    for path in sys.argv[2:]:
        part = load(path)
        if part["cells"] != bench["cells"]:
            sys.exit(f"bench-plot.py: {path} is of {part['cells']:,} cells")
        bench["workloads"] += part["workloads"]
    print("\n".join(draw(bench)))


if __name__ == "__main__":
    main()
