"""The tests for mutate.py: which of them reach a line, what they cost, how they end.

A test is a unit program, a campaign of tests/model, tests/crash or tests/hbase,
or one test of a file of tests/bats. Each runs in namespaces of its own with a /tmp
in memory: what it leaves behind, mounts and daemons too, goes with it.
"""
import collections
import glob
import hashlib
import json
import os
import re
import signal
import subprocess
import time

JOBS = 3
APART = ["unshare", "-m", "-p", "-f", "--kill-child", "--mount-proc", "sh", "-c",
         'mount -t tmpfs none /tmp && "$@"', "sh"]
COMMON = ["-Db_lundef=false", "-Dwerror=false"]
# In the copy the store is a shared library, so that no test is linked again for a
# change in it; static for those that wrap its calls, and where blocks are noted. Of
# each: the file, what stands there, what is to, and how often (-1: everywhere).
SHARED = [
    ("store/meson.build", "store_lib = static_library(",
     "store_both = both_libraries(", 1),
    ("store/meson.build", "gnu_symbol_visibility: 'hidden',", "", 1),
    ("store/meson.build", "store = declare_dependency(",
     "store_static = store_both.get_static_lib()\n"
     "store_lib = get_option('optimization') == '1' ? store_static"
     " : store_both.get_shared_lib()\n"
     "store = declare_dependency(", 1),
    ("tests/meson.build", "link_args: wrapped.get(name, []),",
     "link_args: wrapped.get(name, []),"
     " link_whole: name in wrapped ? [store_static] : [],", 1),
    # What asks the mount must see who takes a mutex that is given back (held.h).
    ("tests/meson.build", "link_with: kernel_lib,",
     "link_with: kernel_lib, link_whole: store_static,", 1),
    ("tests/meson.build", "'unit/os_calls.c',",
     "'unit/os_calls.c', link_whole: store_static,", 1),
    ("tests/meson.build", "'unit/door.c',",
     "'unit/door.c', link_whole: store_static,", 1),
    ("tests/meson.build", "link_args: alloc_wraps",
     "link_whole: store_static, link_args: alloc_wraps", -1),
]
BUILDS = {
    "plain": ["-Dbuildtype=release", *COMMON],
    "asan": ["-Doptimization=g", "-Ddebug=false",
             "-Db_sanitize=address,undefined", *COMMON],
    "cover": ["-Dbuildtype=debug", "-Doptimization=1", "-Db_pie=true",
              "-Dc_args=-fsanitize-coverage=trace-pc", *COMMON],
}
SANITIZERS = {"ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0",
              "UBSAN_OPTIONS": "halt_on_error=1"}
# Suites of meson; the campaigns that plant bugs of their own judge none, and the
# library as a shared object has no place for the notes (mutate_cover.c).
SUITES = {"unit", "model", "crash", "hbase"}
NOT = re.compile(r"-finds$|^layering$|^limits$|^bench$|^library_")
# Campaigns that would go on: what they find of a change they find early.
SHORT = {
    "crash": ["--states", "1500"],
    "crash-faults": ["--faults", "--workloads", "1"],
    "model": ["--seconds", "5", "--runs", "0"],
    "model-classic": ["--classic", "--seconds", "3", "--runs", "0"],
    "model-remote": ["--subject", "remote", "--seconds", "3", "--runs", "0"],
    "model-threads": ["--threads", "--seconds", "3", "--runs", "0"],
}
# Files of tests that run no code of store/ and fs/, or much too slowly.
NO_FILES = {"hbase_shell", "mount_sh", "bench_mount", "tools", "readme"}
MOUNT = ["fs/cellfs", "tools/cellctl", "tests/cellfs-cut", "tests/cellfs-ref",
         "tests/treerace", "tests/filetest", "tests/killtest", "tests/posixtest"]

# The name of a source, as addr2line gives it, and a line.
PLACE = re.compile(r"^(?:.*/)??((?:store|fs)/[^:]*\.c):(\d+)")

Run = collections.namedtuple("Run", "name targets command limit")


def ended(p):
    try:
        os.killpg(p.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    p.wait()


def is_of(made, path):
    """Whether this object is made of this source: store/x/y.c is .../x_y.c.o."""
    return ("_" + path.replace("/", "_") + ".o").endswith(
        "_" + os.path.basename(made).removeprefix(".._"))


def pattern(names):
    """A pattern of bats that fits these descriptions."""
    return "^(" + "|".join(re.sub(r"([][\\.*^$+?(){}|])", r"\\\1", n)
                           for n in names) + ")$"


class Tests:
    def __init__(self, copy, files, sources):
        """Of tests/bats only these files; None: all."""
        self.copy = copy
        if not os.path.isdir(self.build("plain")):
            self.share()
        for kind, options in BUILDS.items():
            if not os.path.isdir(self.build(kind)):
                self.set_up(kind, options)
        found = subprocess.run(
            ["meson", "introspect", self.build("plain"), "--tests"], check=True,
            stdout=subprocess.PIPE, text=True)
        self.programs = {t["name"]: t for t in json.loads(found.stdout)
                         if t["cmd"][0].startswith(self.build("plain"))
                         and SUITES & {s.split(":")[-1] for s in t["suite"]}
                         and not NOT.search(t["name"])}
        self.bats = {}
        folder = os.path.join(copy, "tests", "bats")
        for f in sorted(os.listdir(folder)):
            if f.endswith(".bats") and (f[:-5] in files if files else
                                        f[:-5] not in NO_FILES):
                with open(os.path.join(folder, f), encoding="utf-8") as text:
                    self.bats[f] = re.findall(r'^@test "(.*)" \{$', text.read(),
                                              re.M)
        self.good = set()
        self.bad = set()
        self.reach, self.cost = {}, {}
        self.measure()
        self.ninja("plain", *{t for n in self.programs
                              for t in self.program("plain", n).targets}, *MOUNT)
        made = glob.glob("**/*.o", root_dir=self.build("plain"), recursive=True)
        self.objects = {p: [o for o in made if is_of(o, p)] for p in sources}
        self.code = {p: self.code_of(p) for p in sources}

    def code_of(self, path):
        """What a release build makes of a source."""
        code = []
        for name in self.objects[path]:
            with open(os.path.join(self.build("plain"), name), "rb") as o:
                code.append(hashlib.sha256(o.read()).digest())
        return code

    def build(self, kind):
        return os.path.join(self.copy, "build-" + kind)

    def share(self):
        for name, was, now, times in SHARED:
            path = os.path.join(self.copy, name)
            with open(path, encoding="utf-8") as f:
                text = f.read()
            if was not in text:
                raise SystemExit(f"mutate: {name} has no {was}")
            with open(path, "w", encoding="utf-8") as f:
                f.write(text.replace(was, now, times))

    def set_up(self, kind, options):
        # Absolute, as a daemon is copied elsewhere, and one with more rights than
        # who starts it searches no other.
        more = [f"-Dc_link_args=-Wl,-rpath,{self.build(kind)}/store"]
        if kind == "cover":
            hook = os.path.join(self.copy, "cover.o")
            subprocess.run(["gcc", "-O2", "-fPIC", "-c", "-o", hook,
                            "tests/long/mutate_cover.c"], cwd=self.copy,
                           check=True)
            more = ["-Dc_link_args=" + hook]
        subprocess.run(["meson", "setup", self.build(kind), *options, *more],
                       cwd=self.copy, check=True, stdout=subprocess.DEVNULL)

    def ninja(self, kind, *targets):
        p = subprocess.run(["ninja", "-C", self.build(kind), *targets],
                           check=False, stdout=subprocess.PIPE, text=True,
                           errors="replace")
        self.said = p.stdout
        return p.returncode == 0

    def program(self, kind, name):
        t = self.programs[name]
        plain = self.build("plain")
        target = os.path.relpath(t["cmd"][0], plain)
        command = [c.replace(plain, self.build(kind)) for c in t["cmd"]]
        if name in SHORT:
            command[1:] = SHORT[name]
        return Run(name, [target], command, self.limit([name]))

    def mount(self, kind, file, numbers):
        names = [self.bats[file][n - 1] for n in numbers]
        slowest = max(self.cost.get(f"{file} {n}", 20) for n in numbers)
        return Run(file, MOUNT,
                   ["env", "BUILD=" + self.build(kind),
                    f"BATS_TEST_TIMEOUT={round(10 + 8 * slowest)}", "bats",
                    "--tap", "-f", pattern(names),
                    os.path.join(self.copy, "tests/bats", file)],
                   self.limit([f"{file} {n}" for n in numbers]))

    def limit(self, names):
        cost = sum(self.cost.get(n, 20) for n in names)
        return 10 + min(8 * cost, 60 + 2 * cost)

    def start(self, run, slot, env=None):
        log = os.path.join(self.copy, f"log{slot}")
        with open(log, "wb") as f:
            p = subprocess.Popen([*APART, *run.command], stdin=subprocess.DEVNULL,
                                 stdout=f, stderr=f, start_new_session=True,
                                 env={**os.environ, **SANITIZERS,
                                      **(env or {})})
        return p, log, time.monotonic()

    def first_that_fails(self, kind, runs):
        """Some at a time, in their order, until one fails: its name or None."""
        targets = {t for r in runs for t in r.targets}
        if runs and not self.ninja(kind, *targets):
            raise SystemExit("mutate: a test is not linked\n" + self.said)
        going = {}
        try:
            return self.failing(list(runs), going)
        finally:
            for _, p, _, _ in going.values():
                ended(p)

    def failing(self, runs, going):
        lost = None
        while (runs or going) and lost is None:
            while runs and len(going) < JOBS:
                slot = min(set(range(JOBS)) - set(going))
                run = runs.pop(0)
                going[slot] = (run, *self.start(run, slot))
            time.sleep(0.02)
            for slot, (run, p, log, began) in list(going.items()):
                code = p.poll()
                with open(log, "rb") as f:
                    bad = re.search(rb"^not ok (\d+) (.*)", f.read(), re.M)
                if code or bad or time.monotonic() - began > run.limit:
                    lost = run.name + (": " + bad.group(2).decode() if bad else "")
                if code is not None:
                    del going[slot]
        return lost

    def reaching(self, path, line):
        """What runs the block that this line is in, and what runs its function.

        The compiler joins blocks and makes several of one, so what a line does
        may be noted for another of the function. Outside of one: what runs the file.
        """
        blocks = self.reach.get(path, {})
        with open(os.path.join(self.copy, path), encoding="utf-8") as f:
            lines = f.read().split("\n")
        begin = end = line
        while begin > 1 and lines[begin - 1][:1] not in ("{", "}"):
            begin -= 1
        while end < len(lines) and lines[end - 1][:1] != "}":
            end += 1
        # A file of nothing but data has no block: anything may use it.
        every = {t for names in blocks.values() for t in names} or set(self.cost)
        inside = [n for n in sorted(blocks) if begin <= n <= end]
        before = [n for n in inside if n <= line]
        if lines[begin - 1][:1] != "{" or not before:
            return every, every
        function = {t for n in inside for t in blocks[n]}
        return set(blocks[before[-1]]), function or every

    def forget(self, run):
        """Fails on what is not changed too: no judge."""
        print(f"{run}: fails without a change, left out", flush=True)
        self.bad |= {run, *(f"{run} {n + 1}" for n in
                            range(len(self.bats.get(run, []))))}

    def runs(self, kind, path, line, learnt, seconds):
        """Those that reach a line, then its function, for so long."""
        block, function = self.reaching(path, line)
        asked = []
        for tests in block, function - block:
            for cost, run in self.ordered(kind, path, tests, learnt):
                if cost <= seconds:
                    seconds -= cost
                    asked.append(run)
        return asked

    def ordered(self, kind, path, tests, learnt):
        """(cost, run) of tests, likely and cheap ones first."""
        module = os.path.basename(path).split(".")[0]
        mounts = collections.defaultdict(list)
        order = []
        for name in tests & set(self.cost) - self.bad:
            file, _, number = name.rpartition(" ")
            if file in self.bats:
                mounts[file].append(int(number))
            elif name in self.programs:
                near = name in module or module in name
                cost = 0 if near else self.cost[name]
                order.append((cost / (1 + learnt[name] + 5 * near), cost,
                              self.program(kind, name)))
        for file, numbers in mounts.items():
            cost = sum(self.cost[f"{file} {n}"] for n in numbers)
            order.append((cost / (1 + learnt[file]), cost,
                          self.mount(kind, file, sorted(numbers))))
        order.sort(key=lambda o: (o[0], o[2].name))
        return [o[1:] for o in order]

    def measure(self):
        """Runs all once, and keeps what each costs and which blocks it runs."""
        notes = os.path.join(self.copy, "notes")
        costs = os.path.join(self.copy, "costs")
        os.makedirs(notes, exist_ok=True)
        done = {}
        if os.path.exists(costs):
            with open(costs, encoding="utf-8") as f:
                done = {r["run"]: r["cost"] for r in map(json.loads, f)}
        runs = [self.program("cover", n) for n in self.programs]
        runs += [self.mount("cover", f, range(1, len(names) + 1))
                 for f, names in self.bats.items()]
        runs = [r for r in runs if r.name not in done]
        if runs and not self.ninja("cover",
                                   *sorted({t for r in runs for t in r.targets})):
            raise SystemExit("mutate: the build to measure with fails")
        new = bool(runs)
        for run, cost in self.measured(runs, notes):
            done[run] = cost
            with open(costs, "a", encoding="utf-8") as f:
                f.write(json.dumps({"run": run, "cost": cost}) + "\n")
        self.cost = {k: v for cost in done.values() for k, v in cost.items()}
        self.reach = self.known_blocks(notes, os.path.join(self.copy, "reach"),
                                       new)

    def known_blocks(self, notes, path, new):
        if new or not os.path.exists(path):
            reach = {f: {n: sorted(t) for n, t in of.items()}
                     for f, of in self.blocks(notes).items()}
            with open(path, "w", encoding="utf-8") as f:
                json.dump(reach, f)
            return reach
        with open(path, encoding="utf-8") as f:
            return {file: {int(n): t for n, t in of.items()}
                    for file, of in json.load(f).items()}

    def measured(self, runs, notes):
        going = {}
        try:
            while runs or going:
                while runs and len(going) < JOBS:
                    slot = min(set(range(JOBS)) - set(going))
                    run = runs.pop(0)
                    if run.name in self.bats:
                        run.command.insert(run.command.index("--tap"), "--timing")
                    going[slot] = (run, *self.start(
                        run, slot, {"COVER": notes, "COVER_TEST": run.name}))
                time.sleep(0.02)
                for slot, (run, p, log, began) in list(going.items()):
                    if p.poll() is None and time.monotonic() - began < run.limit:
                        continue
                    ended(p)
                    del going[slot]
                    yield run.name, self.cost_of(run, p, log,
                                                 time.monotonic() - began)
        finally:
            for _, p, _, _ in going.values():
                ended(p)

    def cost_of(self, run, p, log, seconds):
        if run.name not in self.bats:
            if p.returncode == 0:
                return {run.name: seconds}
            print(f"{run.name}: fails without a change, left out", flush=True)
            return {}
        with open(log, encoding="utf-8", errors="replace") as f:
            text = f.read()
        for n in re.findall(r"^not ok (\d+) ", text, re.M):
            print(f"{run.name} {n}: fails without a change, left out", flush=True)
        return {f"{run.name} {n}": int(ms) / 1000 for n, ms in
                re.findall(r"^ok (\d+) .* in (\d+)ms", text, re.M)}

    def blocks(self, notes):
        """{file: {line: [test]}} of all blocks, those that none reaches too."""
        reach = collections.defaultdict(lambda: collections.defaultdict(set))
        exes = collections.defaultdict(dict)
        for test in os.listdir(notes):
            for exe in os.listdir(os.path.join(notes, test)):
                with open(os.path.join(notes, test, exe), "rb") as f:
                    exes[exe][test.strip()] = {
                        m.start() for m in re.finditer(b"\1", f.read())}
        where = {os.path.basename(t["cmd"][0]): self.program("cover", n).command[0]
                 for n, t in self.programs.items()}
        where |= {os.path.basename(t): os.path.join(self.build("cover"), t)
                  for t in MOUNT}
        for exe, tests in exes.items():
            if exe not in where:
                continue
            every = set().union(*tests.values()) | self.calls(where[exe])
            lines = self.lines(where[exe], sorted(every))
            for address, place in lines.items():
                reach[place[0]][place[1]] |= {
                    t for t, hit in tests.items() if address in hit}
        return reach

    @staticmethod
    def calls(exe):
        """Where blocks begin: behind each call of the hook."""
        text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", exe],
                              check=True, stdout=subprocess.PIPE, text=True).stdout
        return {int(n, 16) + 5 for n in re.findall(
            r"^ *([0-9a-f]+):\s+call.*<__sanitizer_cov_trace_pc>", text, re.M)}

    def lines(self, exe, addresses):
        out = subprocess.run(
            ["addr2line", "-e", exe], check=True, text=True,
            stdout=subprocess.PIPE,
            input="".join(f"{a - 1:x}\n" for a in addresses)).stdout
        lines = {}
        for address, text in zip(addresses, out.split("\n")):
            m = PLACE.search(text)
            if m:
                lines[address] = (m.group(1), int(m.group(2)))
        return lines
