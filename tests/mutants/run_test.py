# tests/mutants/run_test.py - the parts of run.py: draws, verdicts, going on, the seal; components.py against the build.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""run_test.py BUILD"""
import collections
import contextlib
import io
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import run  # noqa: E402
from components import COMPONENTS, MEMORY, NAMED_ONLY, Component, Stage, stages_of  # noqa: E402

BUILD = pathlib.Path(sys.argv[1]).resolve()
failures = []


def expect(what, got, want=True):
    if got != want:
        failures.append(f"{what}: {got!r}, not {want!r}")


TEXT = "// a.cpp - adds.\n" + "".join(f"int f{i}(int a, int b) {{\n  return a < b && a + 1 == {i + 7};\n}}\n" for i in range(20))


class Fake:
    """A tree of one file. Faults with an odd line do not compile if `+ 1` is gone; red are comparisons."""

    def __init__(self, folder):
        self.tree, self.builds, self.runs = folder, 0, []
        (folder / "a.cpp").write_text(TEXT)

    def keep(self):
        pass

    def reset(self):
        expect("a mutant begins with the original", (self.tree / "a.cpp").read_text(), TEXT)

    def ninja(self, targets):
        self.builds += 1
        return "error: no such thing" if re.search(r"&& a == 10", (self.tree / "a.cpp").read_text()) else None

    def ctest(self, tests, limit=None):
        self.runs.append(tests)
        text = (self.tree / "a.cpp").read_text()
        if limit is None:
            expect("green without a fault", text, TEXT)
        if tests == "far":
            return (["far_test"] if "!=" in text else []), 0.0
        return (["near_test"] if "<=" in text else []), 0.0


def draws():
    texts = {"a.cpp": TEXT, "b.py": "def f():\n    x = a < b\n"}
    first = list(run.draws("c", 1, texts))
    expect("the seed decides", first == list(run.draws("c", 1, texts)) and first != list(run.draws("c", 2, texts)))
    expect("each component has its own", first != list(run.draws("d", 1, texts)))
    expect("no fault twice", len(set(first)), len(first))
    kinds = collections.Counter(fault.operator for _, fault in first[:50])
    expect("kinds evenly, as long as there are", min(kinds.values()) >= 4 and len(kinds) == 5)
    path, fault = next((p, f) for p, f in first if p == "a.cpp")
    text = run.planted(TEXT, fault, quiet=True).split("\n")
    old = TEXT.split("\n")
    expect("one line", [n for n in range(1, len(old)) if text[n] != old[n]], [fault.line - 1])
    expect("the compiler is told to keep quiet", text[0].startswith("_Pragma("))
    expect("as it is", run.planted(TEXT, fault, quiet=False).split("\n")[0], old[0])


def verdicts():
    component = Component("c", "a.cpp", (Stage("near", ("x",)), Stage("far", ("y",)), Stage("never", ("z",), files="b.cpp")))
    expect("stages by file", [s.tests for s in stages_of(component, "a.cpp")], ["near", "far"])
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as output:
        folder = pathlib.Path(folder)
        fake, file = Fake(folder), folder / "results.jsonl"
        streams = lambda: {"c": enumerate(run.draws("c", 1, {"a.cpp": TEXT}))}
        origin = dict(seed=1, commit="abc")
        run.plant_all(fake, [component], streams(), 30, [], file, origin)
        entries = run.load(file)
        expect("the file is as it was", (folder / "a.cpp").read_text(), TEXT)
        for e in entries:
            want = ("killed", "near_test") if "<=" in e["after"] else ("killed", "far_test") if "!=" in e["after"] else ("survived", "")
            if re.search("&& a == 10", e["after"]):
                want = ("invalid", "does not build: no such thing")
            expect(f"verdict of {e['after']}", (e["verdict"], e["by"]), want)
        expect("30 that compile", sum(e["verdict"] != "invalid" for e in entries), 30)
        expect("all verdicts are met", {e["verdict"] for e in entries}, {"killed", "survived", "invalid"})
        # A run that was stopped goes on where it was, and gives what one run gives.
        half = folder / "half.jsonl"
        half.write_text("".join(json.dumps(e) + "\n" for e in entries[:10]))
        known = run.load(half)
        run.plant_all(fake, [component], streams(), 30, known, half, origin)
        plain = lambda list_: [(e["draw"], e["verdict"]) for e in list_]
        expect("goes on", plain(run.load(half)), plain(entries))
        again = fake.builds
        run.plant_all(fake, [component], streams(), 30, known, half, origin)
        expect("nothing left to do", fake.builds, again)
        asked = len(fake.runs)
        near = run.verdict(fake, component, "a.cpp", next(f for _, f in run.draws("c", 1, {"a.cpp": TEXT}) if "!=" in f.after),
                           type("Green", (), {"limit": lambda self, stage: 1})(), 1)
        expect("the first stage alone, and what it does not kill survives", (near, fake.runs[asked:]), (("survived", ""), ["near"]))
        good = run.report(entries)
        survivors = sum(e["verdict"] == "survived" for e in entries)
        expect("below the bar", good, survivors <= 3)
        expect("survivors are listed", output.getvalue().count("SURVIVED a.cpp:"), survivors)
        expect("counted", f"killed {30 - survivors} of 30 mutants" in output.getvalue())
        expect("the bar holds", run.report([e for e in entries if e["verdict"] == "killed"]))
        expect("nothing is no success", run.report([]), False)
        survivors_again(folder, component, entries, output)


def survivors_again(folder, component, entries, output):
    """Survivors are planted once more; a line that moved is found, one that is gone is no mutant."""
    class Later(Fake):
        """The first survivor's line has changed, everything moved down by a line, and every test is red now."""

        def __init__(self, folder, changed):
            self.tree, self.builds, self.runs, self.planted = folder, 0, [], []
            self.text = TEXT.replace(changed, changed + " // new").replace("// a.cpp - adds.\n", "// a.cpp - adds.\n// more\n")
            (folder / "a.cpp").write_text(self.text)

        def reset(self):
            expect("a mutant begins with the text of today", (self.tree / "a.cpp").read_text(), self.text)

        def ctest(self, tests, limit=None):
            text = (self.tree / "a.cpp").read_text()
            if text == self.text:
                return [], 0.0
            [line] = [n for n, (a, b) in enumerate(zip(text.split("\n"), self.text.split("\n"))) if a != b and n]
            self.planted.append((line + 1, text.split("\n")[line]))
            return ["new_test"], 0.0

    survivors = [e for e in entries if e["verdict"] == "survived"]
    later, file, known = Later(folder, survivors[0]["before"]), folder / "again.jsonl", list(entries)
    run.plant_again(later, [component], known, file, dict(seed=1, commit="def"))
    rows = run.load(file)
    gone = [e for e in rows if e["verdict"] == "gone"]
    expect("the changed line is no mutant", {e["before"] for e in gone}, {survivors[0]["before"]})
    expect("the others are killed", [(e["line"], e["after"]) for e in rows if e["verdict"] == "killed"], later.planted)
    expect("a line further down", later.planted, [(e["line"] + 1, e["after"]) for e in survivors if e["before"] != survivors[0]["before"]])
    expect("what they were", {(e["again"], e["commit"]) for e in rows}, {("abc", "def")})
    before = len(output.getvalue())
    expect("the later verdict counts", run.report(entries + rows))
    said, killed = output.getvalue()[before:], 30 - len(survivors)
    expect("both counts", f"at first {killed} of 30" in said and f"killed {30 - len(gone)} of {30 - len(gone)} mutants" in said)
    run.plant_again(later, [component], known, file, dict(seed=1, commit="def"))
    expect("nothing left to plant", len(run.load(file)), len(rows))


def chosen_components():
    names = lambda text: [c.name for c in run.components_of(text)]
    expect("all", names(""), [c.name for c in COMPONENTS])
    expect("named only", (names("memory"), "memory" in names("")), (["memory"], False))
    expect("its libraries alone", run.alone_in([MEMORY]), ("tessera_codegen_analysis", "tessera_codegen_gpu"))
    expect("all where one names none", run.alone_in([MEMORY, COMPONENTS[0]]))
    expect("those listed, in the table's order", names("trainer,dialect"), ["dialect", "trainer"])
    try:
        run.components_of("dialect,no")
        expect("an unknown name is refused", False)
    except SystemExit as stop:
        expect("and named", str(stop).startswith("no component no; there are language, "))


def the_seal():
    """What runs inside writes to its tree and to $TMPDIR, and nowhere else."""
    folder = BUILD / "mutants_test"
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("tree", "tmp", "outside"):
        (folder / name).mkdir(parents=True)
    script = f"pwd; touch inside; touch $TMPDIR/inside; touch {folder}/outside/file; touch $HOME/tessera-seal; echo end"
    done = subprocess.run(run.sealed(folder / "tree", folder / "tmp", ["sh", "-c", script]), capture_output=True, text=True)
    expect("runs", done.stdout.split(), [str(folder / "tree"), "end"])
    expect("writes", (folder / "tree" / "inside").exists() and (folder / "tmp" / "inside").exists())
    expect("nowhere else", not list((folder / "outside").iterdir()) and done.stderr.count("Read-only file system") == 2)
    shutil.rmtree(folder)


def the_table():
    """Each expression of components.py means something: files, tests, targets."""
    files = subprocess.run(["git", "-C", str(run.ROOT), "ls-files"], capture_output=True, text=True, check=True).stdout.split()
    listing = subprocess.run(["ctest", "--test-dir", str(BUILD), "--show-only=json-v1", "-LE", "full"], capture_output=True, text=True)
    programs = {t["name"]: pathlib.Path(t["command"][0]) for t in json.loads(listing.stdout)["tests"]}
    tests = list(programs)
    known = subprocess.run(["ninja", "-C", str(BUILD), "-t", "targets", "all"], capture_output=True, text=True).stdout
    targets = {line.partition(":")[0] for line in known.splitlines()}
    for component in COMPONENTS + NAMED_ONLY:
        for target in component.alone:
            expect(f"{component.name}: library {target}", target in targets)
        mine = [f for f in files if re.fullmatch(component.files, f)]
        expect(f"{component.name} has sources", bool(mine))
        for stage in component.stages:
            for part in re.split(r"\|(?![^(]*\))", stage.tests):
                expect(f"{component.name}: a test is called {part}", any(re.fullmatch(part, t) for t in tests))
            mine_here = [t for t in tests if re.fullmatch(stage.tests, t) and programs[t].parent == BUILD / "bin"]
            expect(f"{component.name}: built for {stage.tests}", {programs[t].name for t in mine_here} - set(stage.targets), set())
            for target in stage.targets:
                expect(f"{component.name}: target {target}", target in targets)
            expect(f"{component.name}: files {stage.files}", any(re.search(stage.files, f) for f in mine))
    sources = [f for f in files if re.match(r"(autotune|compiler|dialect|codegen|runtime|tools|trainer|models|support)/.*\.cpp$|"
                                            r"(kernels|python/tessera|tools)/.*\.py$", f)]
    left = [f for f in sources if not any(re.fullmatch(c.files, f) for c in COMPONENTS)]
    expect("sources of no component", left, [])


draws()
verdicts()
chosen_components()
the_seal()
the_table()
for line in failures:
    print("FAILED", line)
print("failures:", len(failures))
sys.exit(1 if failures else 0)
