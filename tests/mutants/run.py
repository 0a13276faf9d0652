# tests/mutants/run.py - plants one-line faults in our sources: does a test of `make test` go red?
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""run.py [seed=1] [n=150] [component=NAME[,NAME...]] [commit=HEAD] [results=FILE] [jobs=N] [prefix=COMMAND] [again=1] [stages=N] [unity=1] [list=1] [report=1]

Sources are mutated in a scratch worktree, build/mutants/tree of the repository, never in yours; it is built and tested there with
everything outside of it and of a temporary folder mounted read-only. Each mutant: one line of one source, the affected targets
rebuilt, the tests of its component run closest first, until the first red one. Components take turns; within one, seed decides
on the kind of fault and on the line. A change that does not compile does not count, and the next one is drawn.

results (default build/mutants/seed-S.jsonl): a line of JSON for each draw, appended; a run that was stopped continues after the last
one of the same seed, component and commit. report=1 prints what is in the file and runs nothing. Exit status 1 below 90 %.
again=1 plants the survivors in the file once more, in the sources and with the tests of `commit`, and appends what became of them.
stages=N asks the first N stages of a component alone: what they do not kill counts as a survivor.
unity=1 compiles several sources at once, as build/release does, so that ccache has the unchanged objects of that build.
prefix: what to put before each build and test command, such as "nice -n 10"."""
import collections
import contextlib
import datetime
import json
import os
import pathlib
import platform
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import sites  # noqa: E402
from components import COMPONENTS, NAMED_ONLY, stages_of  # noqa: E402

ROOT = HERE.parents[1]
BAR = 0.9
# Dead code and odd conditions are what a mutant is made of.
QUIET = " ".join(f'_Pragma("GCC diagnostic ignored \\"-W{w}\\"")' for w in (
    "pragmas", "parentheses", "unused-variable", "unused-but-set-variable", "unused-parameter", "unused-function", "unused-value",
    "unused-result", "empty-body", "sign-compare", "return-type", "type-limits", "maybe-uninitialized", "bool-compare", "logical-op",
    "tautological-compare", "implicit-fallthrough", "dangling-else", "div-by-zero", "shift-count-overflow", "array-bounds"))


# ---- which mutants -------------------------------------------------------------------------------------------------------------

def draws(component, seed, texts):
    """Endless in effect: (path, Fault), kinds evenly, no fault twice. texts: path -> text."""
    pool = collections.defaultdict(list)
    for path in sorted(texts):
        for fault in sites.faults(texts[path], path.endswith(".py")):
            pool[fault.operator].append((path, fault))
    rng = random.Random(f"{seed} {component}")
    for operator in sorted(pool):
        rng.shuffle(pool[operator])
    while any(pool.values()):
        operator = rng.choice(sorted(o for o in pool if pool[o]))
        yield pool[operator].pop()


def planted(text, fault, quiet):
    """The text with the fault. A C++ text opens with a comment, which a pragma against warnings replaces."""
    lines = text.split("\n")
    assert lines[fault.line - 1] == fault.before
    lines[fault.line - 1] = fault.after
    if quiet and fault.line > 1 and lines[0].startswith("//"):
        lines[0] = QUIET
    return "\n".join(lines)


# ---- the scratch tree ------------------------------------------------------------------------------------------------------------

# Everything read-only but the tree ($1) and the folder for temporary files ($2), which is seen as /tmp too.
SEAL = """set -e
mount --make-rprivate /
mount --bind "$1" "$1"
case $1 in
  /tmp/*) TMPDIR=$2 ;;
  *) TMPDIR=/tmp ;;
esac
mount --bind "$2" "$TMPDIR"
export TMPDIR XDG_CACHE_HOME="$TMPDIR/cache"
tree=$1; shift 2
cut -d' ' -f5 /proc/self/mountinfo | while read -r at; do
  case $at in
    "$tree"|"$tree"/*|"$TMPDIR"|/proc|/proc/*|/sys|/sys/*|/dev|/dev/*) ;;
    *) mount -o remount,bind,ro "$at" 2>/dev/null || true ;;
  esac
done
cd "$tree"
exec "$@"
"""


def sealed(tree, temporary, command):
    """A mutated program may remove or overwrite anything: what it can reach is its own."""
    return ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"]), "sh", "-c", SEAL, "seal", str(tree), str(temporary),
            *command]


class Scratch:
    def __init__(self, commit, prefix, jobs, alone=True):
        """alone: each source is compiled by itself, which costs more at first and less for each of many mutants; or the names of the
        libraries whose sources are."""
        self.commit, self.prefix, self.jobs, self.alone = commit, shlex.split(prefix), jobs, alone
        self.tree = ROOT / "build" / "mutants" / "tree"
        self.build = self.tree / "build" / "release"
        self.temporary = ROOT / "build" / "mutants" / "tmp"
        self.cache, self.green = self.build / "test-cache", ROOT / "build" / "mutants" / "green-cache"

    def prepare(self):
        self.temporary.mkdir(parents=True, exist_ok=True)
        if not (self.tree / ".git").exists():
            run_or_stop(["git", "-C", str(ROOT), "worktree", "add", "--detach", str(self.tree), self.commit])
        run_or_stop(["git", "-C", str(self.tree), "checkout", "-q", "--force", "--detach", self.commit])
        # A mutant changes one source: compiled alone, it costs a quarter of what its seven neighbours would.
        run_or_stop(["cmake", "--preset", "release", "-DTESSERA_TESTS=ON", f"-DTESSERA_UNITY={'OFF' if self.alone is True else 'ON'}",
                     "-DTESSERA_ALONE=" + (";".join(self.alone) if isinstance(self.alone, tuple) else "")], cwd=self.tree)

    def keep(self):
        """The compiled kernels that the green runs left are what each mutant starts with."""
        shutil.rmtree(self.green, ignore_errors=True)
        if self.cache.exists():
            shutil.copytree(self.cache, self.green)

    def reset(self):
        """A mutant's wrong artifacts do not outlive it."""
        for folder in (self.cache, self.temporary):
            shutil.rmtree(folder, ignore_errors=True)
        self.temporary.mkdir()
        if self.green.exists():
            shutil.copytree(self.green, self.cache)

    def ninja(self, targets):
        """None, or the output of the failed build."""
        if not targets:
            return None
        done = subprocess.run([*self.prefix, "ninja", "-C", str(self.build), f"-j{self.jobs}", *targets], capture_output=True, text=True)
        return None if done.returncode == 0 else done.stdout[-3000:] + done.stderr

    def ctest(self, tests, limit=None):
        """(The red tests, seconds). None for red: nothing ran. ["time-out"] beyond the limit."""
        command = sealed(self.tree, self.temporary, [
            "ctest", "--test-dir", str(self.build), "-R", f"^({tests})$", "-LE", "full", "-j", str(self.jobs), "--no-tests=error",
            "--stop-on-failure"])
        environment = dict(os.environ, TEST_COMPLETE="1", GTEST_FAIL_FAST="1")
        start = time.time()
        run = subprocess.Popen([*self.prefix, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                               start_new_session=True, env=environment)
        try:
            output, _ = run.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            return ["time-out"], time.time() - start
        finally:  # also what is left of a test, and when this program is stopped
            with contextlib.suppress(ProcessLookupError):
                os.killpg(run.pid, signal.SIGKILL)
            run.wait()
        seconds = time.time() - start
        if run.returncode == 0:
            return [], seconds
        red = re.findall(r"Test +#\d+: (\S+) .*\*\*\*", output)
        return red or None, seconds


def run_or_stop(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, **more)
    if done.returncode:
        sys.exit(f"{shlex.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


# ---- a mutant -------------------------------------------------------------------------------------------------------------------

class Green:
    """Seconds of each stage without a fault, where it must be green; kept in a file."""

    def __init__(self, scratch, file):
        self.scratch, self.file = scratch, file
        self.seconds = json.loads(file.read_text()) if file.exists() else {}

    def limit(self, stage):
        """When a stage has taken too long, in seconds. Runs it without a fault the first time."""
        if stage.tests not in self.seconds:
            self.scratch.reset()
            if said := self.scratch.ninja(stage.targets):
                sys.exit(f"the unchanged sources do not build: {' '.join(stage.targets)}\n{said}")
            red, seconds = self.scratch.ctest(stage.tests)
            if red or red is None:
                sys.exit(f"red without a fault: {', '.join(red) if red else 'no test is called ' + stage.tests}")
            self.scratch.keep()
            self.seconds[stage.tests] = round(seconds, 1)
            self.file.write_text(json.dumps(self.seconds))
        return 60 + 4 * self.seconds[stage.tests]


def verdict(scratch, component, path, fault, green, stages=None):
    """(killed | survived | invalid, by). stages: how many of the component's are asked; None: all."""
    file = scratch.tree / path
    original = file.read_text()
    for stage in stages_of(component, path)[:stages]:
        limit = green.limit(stage)
        scratch.reset()
        file.write_text(planted(original, fault, not path.endswith(".py")))
        try:
            if said := scratch.ninja(stage.targets):
                return "invalid", f"does not build: {first_error(said)}"
            red, _ = scratch.ctest(stage.tests, limit)
        finally:
            file.write_text(original)
        if red is None:
            sys.exit(f"ctest ran nothing: {stage.tests}")
        if red:
            return "killed", ", ".join(red)
    return "survived", ""


def plant_all(scratch, components, streams, count, entries, results, origin, stages=None):
    """Until each component in turn has its share of `count` mutants. entries: those of earlier runs, extended as the file is."""
    done = {(e["component"], e["draw"]): e["verdict"] for e in entries}
    results.parent.mkdir(parents=True, exist_ok=True)
    green = Green(scratch, results.with_suffix(f".{origin['commit']}.green"))
    for number in range(count):
        component = components[number % len(components)]
        for draw, (path, fault) in streams[component.name]:
            if (component.name, draw) in done:
                if done[component.name, draw] == "invalid":
                    continue
                break
            start = time.time()
            outcome, by = verdict(scratch, component, path, fault, green, stages)
            entry = dict(component=component.name, draw=draw, file=path, line=fault.line, operator=fault.operator, before=fault.before,
                         after=fault.after, verdict=outcome, by=by, seconds=round(time.time() - start), **origin)
            entries.append(entry)
            with results.open("a") as file:
                file.write(json.dumps(entry) + "\n")
            print(f"{number + 1}/{count} {outcome:8s} {entry['seconds']:4d} s {path}:{fault.line} {fault.operator} {by}", flush=True)
            if outcome != "invalid":
                break


def first_error(said):
    found = re.search(r"error: (.*)", said)
    return found[1][:100] if found else said.strip().splitlines()[-1][:100]


# ---- survivors again --------------------------------------------------------------------------------------------------------------

def key_of(entry):
    return entry["seed"], entry["component"], entry["draw"]


def settled(entries):
    """(rows of the first count, the same with the results of later runs of the survivors). A later run with the same sources, whose tests are
    those that the first one had not run yet, belongs to the first count."""
    same = {key_of(e): e for e in entries if e.get("again") == e["commit"]}
    later = {key_of(e): e for e in entries if e.get("again", e["commit"]) != e["commit"]}
    first = [same.get(key_of(e), e) for e in entries if "again" not in e]
    return first, [later.get(key_of(e), e) for e in first]


def found_again(entry, text):
    """The entry's fault in today's text of its file: the same line, the nearest where there are several. None: the line is gone."""
    lines = text.split("\n")
    at = [n for n, line in enumerate(lines, 1) if line == entry["before"]]
    if not at:
        return None
    line = min(at, key=lambda n: abs(n - entry["line"]))
    return sites.Fault(line=line, operator=entry["operator"], before=entry["before"], after=entry["after"])


def plant_again(scratch, components, entries, results, origin, stages=None):
    """Survivors that this commit has not seen yet; one whose line is gone is dropped. entries: extended as the file is."""
    green = Green(scratch, results.with_suffix(f".{origin['commit']}.green"))
    seen = {key_of(e) for e in entries if e.get("again") and e["commit"] == origin["commit"]}
    left = [e for e in settled(entries)[1] if e["verdict"] == "survived" and key_of(e) not in seen]
    for number, entry in enumerate(left, 1):
        component = next((c for c in components if c.name == entry["component"]), None)
        if not component:
            continue
        start, path = time.time(), scratch.tree / entry["file"]
        fault = found_again(entry, path.read_text()) if path.exists() else None
        outcome, by = verdict(scratch, component, entry["file"], fault, green, stages) if fault else ("gone", "")
        again = dict(entry, line=fault.line if fault else entry["line"], verdict=outcome, by=by, seconds=round(time.time() - start),
                     again=entry["commit"], **origin)
        entries.append(again)
        with results.open("a") as file:
            file.write(json.dumps(again) + "\n")
        print(f"{number}/{len(left)} {outcome:8s} {again['seconds']:4d} s {entry['file']}:{again['line']} {entry['operator']} {by}", flush=True)


# ---- the results ----------------------------------------------------------------------------------------------------------------

def report(entries):
    """Counts by component and kind, survivors; True if the target is met. Both counts if survivors were injected again."""
    first, now = settled(entries)
    if first != now:
        tried = [e for e in first if e["verdict"] in ("killed", "survived")]
        print(f"at first {sum(e['verdict'] == 'killed' for e in tried)} of {len(tried)} were killed; with the tests that followed:")
    entries = now
    by = collections.defaultdict(collections.Counter)
    for e in entries:
        if e["verdict"] in ("killed", "survived"):
            by[e["component"]][e["verdict"]] += 1
            by[f"({e['operator']})"][e["verdict"]] += 1
    for name in sorted(by):
        print(f"{name:24s} {by[name]['killed']:4d} of {sum(by[name].values())}")
    for e in entries:
        if e["verdict"] == "survived":
            print(f"SURVIVED {e['file']}:{e['line']}: {e['operator']} ({e['component']})\n-{e['before']}\n+{e['after']}")
    tried = [e for e in entries if e["verdict"] in ("killed", "survived")]
    killed = sum(e["verdict"] == "killed" for e in tried)
    seconds = sum(e["seconds"] for e in entries)
    print(f"killed {killed} of {len(tried)} mutants ({sum(e['verdict'] == 'invalid' for e in entries)} did not compile); "
          f"{seconds / 60:.0f} minutes")
    return bool(tried) and killed >= BAR * len(tried)


def load(file):
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def machine():
    with open("/proc/cpuinfo") as info:
        model = re.search(r"model name\s*: (.*)", info.read())
    return f"{model[1] if model else platform.machine()}, {os.cpu_count()} cores"


def settings_of(arguments):
    known = dict(seed="1", n="150", component="", commit="HEAD", results="", jobs="1", prefix="", again="", stages="", unity="", list="", report="")
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if name not in known or not equals:
            sys.exit(__doc__.split("\n\n")[0])
        known[name] = value
    return known


def components_of(names):
    """Those that `names` lists, in the order of the table; all of COMPONENTS for an empty text. `n` is shared by those that are listed."""
    if not names:
        return list(COMPONENTS)
    wanted, table = names.split(","), COMPONENTS + NAMED_ONLY
    for name in wanted:
        if name not in (c.name for c in table):
            sys.exit(f"no component {name}; there are {', '.join(c.name for c in table)}")
    return [c for c in table if c.name in wanted]


def alone_in(components):
    """What Scratch compiles one by one: the libraries that each component names, or all."""
    return tuple(sorted({name for c in components for name in c.alone})) if all(c.alone for c in components) else True


def main():
    given = settings_of(sys.argv[1:])
    seed, count = int(given["seed"]), int(given["n"])
    results = pathlib.Path(given["results"] or ROOT / "build" / "mutants" / f"seed-{seed}.jsonl")
    chosen = components_of(given["component"])
    commit = run_or_stop(["git", "-C", str(ROOT), "rev-parse", "--short=12", given["commit"]]).strip()
    entries = [e for e in load(results) if e["seed"] == seed]
    if given["report"]:
        return 0 if report(entries) else 1
    paths = run_or_stop(["git", "-C", str(ROOT), "ls-tree", "-r", "--name-only", commit]).split()
    show = lambda path: run_or_stop(["git", "-C", str(ROOT), "show", f"{commit}:{path}"])
    streams = {c.name: enumerate(draws(c.name, seed, {p: show(p) for p in paths if re.fullmatch(c.files, p)})) for c in chosen}
    if given["list"]:
        for number in range(count):
            c = chosen[number % len(chosen)]
            _, (path, fault) = next(streams[c.name])
            print(f"{c.name} {path}:{fault.line}: {fault.operator}\n-{fault.before}\n+{fault.after}")
        return 0

    scratch = Scratch(commit, given["prefix"], int(given["jobs"]), alone=not given["again"] and not given["unity"] and alone_in(chosen))
    stages = int(given["stages"]) if given["stages"] else None
    scratch.prepare()
    origin = dict(seed=seed, commit=commit, date=datetime.date.today().isoformat(), machine=machine(),
                  command="tests/mutants/run.py " + shlex.join(sys.argv[1:]))
    if given["again"]:
        plant_again(scratch, chosen, entries, results, origin, stages)
        return 0 if report(entries) else 1
    mine = [e for e in entries if e["commit"] == commit and e["component"] in streams and "again" not in e]
    plant_all(scratch, chosen, streams, count, mine, results, origin, stages)
    return 0 if report(mine) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("\nstopped; the same command continues from here")
