"""Differences between HBase and the engine that store/hbase-differences.md tells.

A rule is named as the case there, or the sentence, that it stands for. It looks
at a smallest program, which has nothing left that is not needed for it to
differ, and at the answers of its last step.
"""
import re

FAMILY_MARKERS = ("DeleteFamily", "DeleteFamilyVersion")
COUNTS = re.compile(r"PageFilter|WHILE|InclusiveStopFilter|ColumnCountGetFilter")
JUMPS = re.compile(r"ColumnPrefixFilter|MultipleColumnPrefixFilter|ColumnRangeFilter")


def cells(answer):
    a = answer.get("answer")
    return a if isinstance(a, list) else None


def without(some, others):
    """Those of some that others have not, one for one."""
    others = list(others)
    out = []
    for c in some:
        if c in others:
            others.remove(c)
        else:
            out.append(c)
    return out


def same(step, theirs, ours):
    """The name of the rule by which two answers are the same, or None."""
    a, b = cells(theirs), cells(ours)
    if "raw" in step and a and b and sorted(map(str, a)) == sorted(map(str, b)):
        if [c for c in a if c[-1] not in FAMILY_MARKERS] == [c for c in b if c[-1] not in FAMILY_MARKERS]:
            return "differs-10"
    return None


class Least:
    """What the rules ask about a smallest program."""

    def __init__(self, schema, steps, theirs, ours):
        self.schema, self.steps, self.theirs, self.ours = schema, steps, theirs, ours
        self.nvb = next(iter(schema.values()))["NEW_VERSION_BEHAVIOR"] == "true"
        self.last = steps[-1]
        self.filter = self.last.get("filter", "")
        a, b = cells(theirs), cells(ours)
        if a is None or b is None:  # exists, or an error: what is more is not known
            self.more = self.less = None
            self.found_more = theirs.get("answer") is True and ours.get("answer") is False
        else:
            self.more, self.less = without(a, b), without(b, a)
            self.found_more = not self.less

    def mutations(self):
        """Of each step that writes: its puts and its deletes."""
        for s in self.steps:
            muts = s.get("muts", [])
            puts = list(s.get("cells", [])) + [c for m in muts for c in m.get("put", [])]
            items = list(s.get("items", [])) + [i for m in muts for i in m.get("delete", [])]
            if s["op"] == "delete" and "items" not in s:
                items = [["DeleteFamily", f, s.get("ts")] for f in self.schema]
            yield puts, items

    def puts(self):
        return [c for puts, _ in self.mutations() for c in puts]

    def deletes(self):
        return [i for _, items in self.mutations() for i in items]

    def family_marker(self):
        return any(i[0] in FAMILY_MARKERS for i in self.deletes())

    def empty_qualifier(self):
        return any(c[0].endswith(":") for c in self.puts())

    def versions(self):
        """How many puts there are, with those that increments and appends make."""
        return len(self.puts()) + sum(s["op"] in ("increment", "append") for s in self.steps)

    def settles(self):
        return any(s["op"] in ("flush", "major_compact") for s in self.steps)

    def timed(self):
        return any(k in self.last for k in ("tr", "ts", "cf_tr"))


def read_fails(p):
    """A read fails that meets a marker of the empty qualifier."""
    return (p.nvb and p.theirs == {"error": "other"} and "error" not in p.ours
            and any(i[1].endswith(":") for i in p.deletes()))


def prefix_fails(p):
    """PrefixFilter ends a scan of named columns with an error, where a file has a row."""
    return ("PrefixFilter" in p.filter and "cols" in p.last and p.settles()
            and p.theirs == {"error": "other"} and "error" not in p.ours)


def kept_marker(p):
    """A compaction that keeps deleted cells forgets what came after a marker, or a marker beside another."""
    hiding = [i for i in p.deletes() if any(covers(i, c[0]) for c in p.puts())]
    return (p.nvb and any(s["op"] == "major_compact" for s in p.steps)
            and any("KEEP_DELETED_CELLS" in f for f in p.schema.values())
            and len(hiding) > (1 if p.more else 0))


def differs_12(p):
    """A raw scan leaves out what its own ttl has ended."""
    return "raw" in p.last and any("ttl" in s for s in p.steps) and not p.more


def covers(item, column):
    return item[1] == column or item[0] in FAMILY_MARKERS and column.split(":")[0] == item[1]


def nvb_013(p):
    """A family marker does not hide the empty qualifier."""
    return p.nvb and p.family_marker() and p.empty_qualifier() and p.found_more


def differs_1(p):
    """A delete hides a put of its own mutation."""
    return p.nvb and any(covers(i, c[0]) for puts, items in p.mutations() for c in puts for i in items)


def differs_2(p):
    """Puts of a column in one mutation are one version."""
    return p.nvb and p.found_more and any(
        a is not b and a[0] == b[0] for puts, _ in p.mutations() for a in puts for b in puts)


def differs_3(p):
    """What newer versions have pushed out is seen by a range of time."""
    return p.timed() and p.found_more and p.versions() > 1


def differs_4(p):
    """The filter is asked about the newest versions only."""
    return p.nvb and bool(p.filter)


def differs_5(p):
    """A filter jumps over a family marker."""
    return bool(JUMPS.search(p.filter)) and p.family_marker() and p.found_more


def differs_6(p):
    """A filter that asks for the next column stays at the empty qualifier."""
    return bool(p.filter) and p.empty_qualifier()


def differs_7(p):
    """What lies behind store_limit is not shown to the filter."""
    return bool(p.filter) and "store_limit" in p.last


def differs_8(p):
    """A scan goes on behind ColumnCountGetFilter's count."""
    return "ColumnCountGetFilter" in p.filter and p.last["op"] == "scan"


def differs_9(p):
    """WHILE over InclusiveStopFilter does not know that the scan is reversed."""
    return "reversed" in p.last and bool(re.search(r"(WHILE|SKIP) .*InclusiveStopFilter", p.filter))


def differs_13(p):
    """WHILE is asked about a row that has only markers."""
    return "WHILE" in p.filter and bool(p.deletes()) and bool(p.less) and not p.more


def differs_14(p):
    """In a reversed scan OR jumps as far as the farthest of its filters."""
    far = len(JUMPS.findall(p.filter)) + ("ColumnPaginationFilter" in p.filter)
    return ("reversed" in p.last and " OR " in p.filter and bool(JUMPS.search(p.filter)) and far > 1
            and bool(p.less) and not p.more)


def own_ttl(p):
    """A put with a ttl of its own that a marker hides pushes nothing out of sight."""
    passing = [c for s in p.steps if "ttl" in s for c in s.get("cells", [])]
    return (p.nvb and bool(p.less) and not p.more and all(
        any(c[0] == seen[1] and any(covers(i, c[0]) for i in p.deletes()) for c in passing)
        for seen in p.less))


def ended_while(p):
    """In OR a WHILE that has ended lets rows pass at their end."""
    return "WHILE" in p.filter and " OR " in p.filter and bool(p.more) and not p.less


FAILURES = {"a read fails": read_fails, "a scan with PrefixFilter fails": prefix_fails}
RULES = {
    **FAILURES,
    "a kept marker": kept_marker,
    "a put with its own ttl": own_ttl,
    "differs-12": differs_12,
    "nvb-013": nvb_013,
    "differs-1": differs_1,
    "differs-2": differs_2,
    "differs-3": differs_3,
    "differs-5": differs_5,
    "differs-6": differs_6,
    "differs-7": differs_7,
    "differs-8": differs_8,
    "differs-9": differs_9,
    "differs-13": differs_13,
    "differs-14": differs_14,
    "an ended WHILE": ended_while,
    "differs-4": differs_4,
}


def once(schema, steps, found, two_regions):
    """The same for one that differed only where it ran first, and is not smallest."""
    p = Least(schema, steps, *found[1:3])
    if two_regions and p.last["op"] == "scan" and COUNTS.search(p.filter):
        return "each region"
    if beside_others(p):
        return "keep-006"
    # A flush that comes when it likes decides whether HBase still has it.
    if differs_3(p) and p.more and all(newer_than(p, seen) for seen in p.more):
        return "differs-3"
    return next((name for name, fits in FAILURES.items() if fits(p)), None)


def when(ts):
    """A timestamp to compare: a number, T0 less so much, or one of the clock's."""
    text = str(ts)
    return float("inf") if text.startswith("clock") else float(text.replace("T0", "") or 0)


def newer_than(p, seen):
    """Has a version that is newer than the answer's cell been put in its row and column?"""
    return any(c[0] == seen[1] and re.fullmatch(rf"p\d+{s['row'][1:]}", seen[0]) and when(c[1]) > when(seen[2])
               for s in p.steps for c in s.get("cells", []) + [c for m in s.get("muts", []) for c in m.get("put", [])])


def beside_others(p):
    """HBase still has a marker that the engine's compaction has dropped: an old put of another program keeps it."""
    compacted = max((n for n, s in enumerate(p.steps) if s["op"] == "major_compact"), default=0)
    markers = [(s["row"][1:], i) for s in p.steps[:compacted] if s["op"] == "delete" for i in s.get("items", [])]
    return (not p.nvb and bool(p.less) and not p.more and all(
        "KEEP_DELETED_CELLS" in p.schema[seen[1].split(":")[0]]
        and any(re.fullmatch(rf"p\d+{row}", seen[0]) and covers(i, seen[1]) for row, i in markers)
        for seen in p.less))


def alone(schema, steps):
    """The rule for one that does not differ in a table of its own, or None."""
    if (any("KEEP_DELETED_CELLS" in f for f in schema.values())
            and any(s["op"] == "major_compact" for s in steps)):
        return "keep-006"  # an old put of any row of its region keeps a marker
    return None


def rule(schema, steps, found):
    """The name of the rule that a smallest program fits, or None."""
    p = Least(schema, steps, *found[1:3])
    return next((name for name, fits in RULES.items() if fits(p)), None)
