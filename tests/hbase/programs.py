"""Random programs in the language of case.h.

A program follows from its seed alone. Programs whose seeds have the same quotient
by BATCH share a table, each with rows of its own; the quotient also says whether
the table has HBase's classic order, and whether its programs read with filters.
Rows begin with "@", which place() replaces. Rows, qualifiers, timestamps and values
are few, so that writes meet.

What HBase is known to answer otherwise (explained.py) is made seldom, since a
program that differs for a known reason says nothing about the rest of it.
"""
import json
import random

BATCH = 64
ROWS = ["@a", "@ab", "@b", "@c"]
EDGES = ["@", "@a", "@ab", "@b", "@c", "@zz"]
QUALIFIERS = ["a", "ab", "b", "c"]
VALUES = ["", "x", "xy", "y"]
COMPARE = ["=", "!=", "<", "<=", ">", ">="]
TS_MAX = 6
LAST = "zz"  # no row of a program is as great


def table(seed):
    """The families of the batch of this seed."""
    classic = seed // BATCH % 2 == 0
    r = random.Random(f"table {seed // BATCH}")
    out = {}
    for name in ["f", "g"][: r.choice([1, 2, 2])]:
        versions = r.choice([1, 1, 2, 3, 5])
        f = {"VERSIONS": versions, "NEW_VERSION_BEHAVIOR": "false" if classic else "true"}
        if r.random() < 0.2:
            f["KEEP_DELETED_CELLS"] = r.choice(["TRUE", "TTL"])
        if r.random() < 0.25:
            f["TTL"] = 100
            f["MIN_VERSIONS"] = r.choice([0, 0, 1]) if versions > 1 else 0
        out[name] = f
    return out


def filter_text(tree):
    if isinstance(tree, str):
        return tree
    if tree[0] in ("SKIP", "WHILE"):
        return f"{tree[0]} ({filter_text(tree[1])})"
    return f" {tree[0]} ".join(f"({filter_text(t)})" for t in tree[1:])


class Maker:
    def __init__(self, seed):
        schema = table(seed)
        self.r = random.Random(seed)
        self.families = sorted(schema)
        self.expires = any("TTL" in f for f in schema.values())
        self.filters = seed // BATCH % 4 > 1
        self.settled = False
        self.n = 0

    def often(self, p):
        return self.r.random() < p

    def family(self):
        return self.r.choice(self.families)

    def qualifier(self):
        return "" if self.often(0.03) else self.r.choice(QUALIFIERS)

    def column(self):
        return f"{self.family()}:{self.qualifier()}"

    def ts(self):
        if self.expires and self.often(0.2):
            return self.r.choice(["T0-200000", "T0-150000"])
        if self.expires:
            return self.r.choice(["T0-5000", "T0-4000", "T0-3000", "T0-2000"])
        return self.r.randint(1, TS_MAX)

    def value(self):
        self.n += 1
        return self.r.choice(VALUES) if self.often(0.5) else f"v{self.n}"

    def cells(self):
        """Of columns that differ, as a rule."""
        out = {}
        for _ in range(self.r.choice([1, 1, 2, 3])):
            column = self.column()
            out[column if self.often(0.98) else (column, self.n)] = [column, self.ts(), self.value()]
        return list(out.values())

    def put(self):
        s = {"op": "put", "row": self.r.choice(ROWS), "cells": self.cells()}
        if self.expires and self.often(0.1):
            s["ttl"] = self.r.choice([1000, 1000000])
        return s

    def items(self):
        out = []
        for _ in range(self.r.choice([1, 1, 1, 2])):
            kind = self.r.choice(["Delete", "Delete", "DeleteColumn", "DeleteColumn", "DeleteFamily",
                                  "DeleteFamilyVersion"])
            if kind.startswith("DeleteFamily"):
                out.append([kind, self.family(), self.ts()])
            else:
                newest = kind == "Delete" and self.often(0.1)
                out.append([kind, self.column(), None if newest else self.ts()])
        return out

    def delete(self):
        if self.often(0.2):
            return {"op": "delete", "row": self.r.choice(ROWS), "ts": self.ts()}
        return {"op": "delete", "row": self.r.choice(ROWS), "items": self.items()}

    def mutations(self):
        """Puts and deletes of different families or columns, as a rule."""
        cells, items = self.cells(), self.items()
        if self.often(0.95):
            names = {c[0] for c in cells} | {c[0].split(":")[0] for c in cells}
            items = [i for i in items if i[1] not in names]
        muts = [{"put": cells}] + ([{"delete": items}] if items else [])
        self.r.shuffle(muts)
        return muts

    def mutate_row(self):
        return {"op": "mutate_row", "row": self.r.choice(ROWS), "muts": self.mutations()}

    def check_and_mutate(self):
        return {"op": "check_and_mutate", "row": self.r.choice(ROWS), "col": self.column(),
                "cmp": self.r.choice(["EQUAL", "NOT_EQUAL", "LESS", "LESS_OR_EQUAL", "GREATER",
                                      "GREATER_OR_EQUAL"]),
                "value": None if self.often(0.3) else self.r.choice(VALUES), "muts": self.mutations()}

    def sums(self, op, argument):
        columns = {self.column() for _ in range(self.r.choice([1, 1, 2]))}
        s = {"op": op, "row": self.r.choice(ROWS), "cols": [[c, argument()] for c in sorted(columns)]}
        if self.often(0.1):
            s["tr"] = self.times()
        return s

    def increment(self):
        return self.sums("increment", lambda: self.r.choice([1, 5, -3, 2**62]))

    def append(self):
        return self.sums("append", self.value)

    def times(self):
        if self.expires:
            return self.r.choice([["T0-4500", "T0-2500"], ["T0-3000", "T0"], [0, "T0-2500"]])
        a, b = sorted(self.r.sample(range(TS_MAX + 2), 2))
        return [a, b]

    def comparator(self):
        kind = self.r.choice(["binary", "binary", "binaryprefix", "substring", "regexstring"])
        return kind, self.r.choice(QUALIFIERS + ["x", "y", "v1", "v3"])

    def compared(self, name, *before):
        kind, value = self.comparator()
        if "Row" in name:
            value = self.r.choice(ROWS)
        op = self.r.choice(["=", "!="] if kind in ("substring", "regexstring") else COMPARE)
        return f"{name}({', '.join([*before, op])}, '{kind}:{value}')"

    def simple_filter(self):
        r, q = self.r, lambda: r.choice(QUALIFIERS)
        truth = lambda: r.choice(["true", "false"])
        column = lambda: (f"'{self.family()}'", f"'{q()}'")
        single = lambda name: self.compared(name, *column())[:-1] + r.choice(
            [")", f", {truth()}, {truth()})"])
        return r.choice([
            lambda: self.compared("RowFilter"),
            lambda: self.compared("QualifierFilter"),
            lambda: self.compared("FamilyFilter").replace("regexstring", "substring"),
            lambda: self.compared("ValueFilter"),
            lambda: self.compared("ColumnValueFilter", *column()),
            lambda: single("SingleColumnValueFilter"),
            lambda: single("SingleColumnValueExcludeFilter"),
            lambda: f"PrefixFilter('{r.choice(EDGES)}')",
            lambda: f"InclusiveStopFilter('{r.choice(ROWS)}')",
            lambda: f"ColumnPrefixFilter('{q()}')",
            lambda: "MultipleColumnPrefixFilter('{}', '{}')".format(*r.sample(QUALIFIERS, 2)),
            lambda: f"ColumnRangeFilter('{q()}', {truth()}, '{q()}', {truth()})",
            lambda: f"TimestampsFilter({r.randint(1, TS_MAX)}, {r.randint(1, TS_MAX)})",
            lambda: f"PageFilter({r.randint(1, 3)})",
            lambda: f"ColumnCountGetFilter({r.randint(1, 3)})",
            lambda: f"ColumnPaginationFilter({r.randint(1, 3)}, {r.randint(0, 2)})",
            lambda: "KeyOnlyFilter()",
            lambda: "FirstKeyOnlyFilter()",
            lambda: "DependentColumnFilter({}, {})".format(*column()),
        ])()

    def filter_tree(self, depth=0):
        if depth == 2 or self.often(0.6):
            return self.simple_filter()
        word = self.r.choice(["AND", "OR", "SKIP", "WHILE"])
        n = 1 if word in ("SKIP", "WHILE") else 2
        return [word] + [self.filter_tree(depth + 1) for _ in range(n)]

    def reading(self, s):
        if self.often(0.7):
            s["versions"] = self.r.choice([1, 2, 3, "all", "all"])
        if self.often(0.3):
            names = [self.family(), self.column(), self.column()]
            s["cols"] = sorted(set(self.r.sample(names, self.r.choice([1, 1, 2]))))
        if self.often(0.2):
            s["tr"] = self.times()
        elif self.often(0.1):
            s["ts"] = self.ts()
        elif self.often(0.1):
            s["cf_tr"] = {self.family(): self.times()}
        if self.often(0.15):
            s["store_limit"] = self.r.randint(1, 3)
        if self.often(0.1):
            s["store_offset"] = self.r.randint(1, 2)
        if self.filters and self.often(0.7):
            s["tree"] = self.filter_tree()
            s["filter"] = filter_text(s["tree"])
        return s

    def get(self):
        return self.reading({"op": "get", "row": self.r.choice(ROWS)})

    def exists(self):
        return self.reading({"op": "exists", "row": self.r.choice(ROWS)})

    def scan(self):
        start, stop = sorted(self.r.sample(EDGES, 2))
        if self.often(0.5):
            start, stop = "@", "@" + LAST
        s = self.reading({"op": "scan", "start": start, "stop": stop})
        if self.often(0.15):
            s["incl_stop"] = True
        if self.often(0.25):
            s["reversed"] = True
            s["start"], s["stop"] = stop, start
        if self.often(0.2):
            s["limit"] = self.r.randint(1, 3)
        if self.often(0.15) and "filter" not in s:
            s["batch"] = self.r.randint(1, 3)
        if self.often(0.1) and not self.settled and "filter" not in s:
            for key in ("cols", "store_limit", "store_offset"):
                s.pop(key, None)
            s["raw"] = True
        return s

    def settle(self):
        self.settled = True
        return {"op": self.r.choice(["flush", "flush", "major_compact"])}

    def steps(self):
        writes = [self.put] * 6 + [self.delete] * 3 + [self.mutate_row, self.check_and_mutate]
        writes += [self.r.choice([self.increment, self.append])]
        out = []
        for _ in range(self.r.randint(8, 24)):
            make = self.r.choice([self.r.choice(writes)] * 5 + [self.get, self.exists, self.scan, self.scan])
            out.append((self.settle if self.often(0.1) else make)())
        out.append({"op": "scan", "start": "@", "stop": "@" + LAST, "versions": "all"})
        return out


def place(steps, prefix):
    """The steps with rows that begin with the prefix."""
    return json.loads(json.dumps(steps).replace("@", prefix))
