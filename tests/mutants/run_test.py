# tests/mutants/run_test.py - the functions of run.py: draws, verdicts, resuming, the seal; components.py against the build.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
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

import pytest
from repository import BUILD, load

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))  # run.py imports its neighbours
run = load("tests/mutants/run.py")
from components import COMPONENTS, MEMORY, NAMED_ONLY, Component, Stage, stages_of  # noqa: E402

TEXT = "// a.cpp - adds.\n" + "".join(f"int f{i}(int a, int b) {{\n  return a < b && a + 1 == {i + 7};\n}}\n" for i in range(20))


class Fake:
    """A tree of one file. Faults with an odd line do not compile if `+ 1` is gone; red are comparisons."""

    def __init__(self, folder):
        self.tree, self.builds, self.runs = folder, 0, []
        (folder / "a.cpp").write_text(TEXT)

    def keep(self):
        pass

    def reset(self):
        assert (self.tree / "a.cpp").read_text() == TEXT, "a mutant begins with the original"

    def ninja(self, targets):
        self.builds += 1
        return "error: no such thing" if re.search(r"&& a == 10", (self.tree / "a.cpp").read_text()) else None

    def ctest(self, tests, limit=None):
        self.runs.append(tests)
        text = (self.tree / "a.cpp").read_text()
        if limit is None:
            assert text == TEXT, "green without a fault"
        if tests == "far":
            return (["far_test"] if "!=" in text else []), 0.0
        return (["near_test"] if "<=" in text else []), 0.0


def test_draws():
    texts = {"a.cpp": TEXT, "b.py": "def f():\n    x = a < b\n"}
    first = list(run.draws("c", 1, texts))
    assert first == list(run.draws("c", 1, texts)) and first != list(run.draws("c", 2, texts)), "the seed decides"
    assert first != list(run.draws("d", 1, texts)), "each component has its own"
    assert len(set(first)) == len(first), "no fault twice"
    kinds = collections.Counter(fault.operator for _, fault in first[:50])
    assert min(kinds.values()) >= 4 and len(kinds) == 5, "kinds evenly, as long as there are"
    path, fault = next((p, f) for p, f in first if p == "a.cpp")
    text = run.planted(TEXT, fault, quiet=True).split("\n")
    old = TEXT.split("\n")
    assert [n for n in range(1, len(old)) if text[n] != old[n]] == [fault.line - 1], "one line"
    assert text[0].startswith("_Pragma("), "the compiler is told to keep quiet"
    assert run.planted(TEXT, fault, quiet=False).split("\n")[0] == old[0], "as it is"


def test_verdicts():
    component = Component("c", "a.cpp", (Stage("near", ("x",)), Stage("far", ("y",)), Stage("never", ("z",), files="b.cpp")))
    assert [s.tests for s in stages_of(component, "a.cpp")] == ["near", "far"], "stages by file"
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as output:
        folder = pathlib.Path(folder)
        fake, file = Fake(folder), folder / "results.jsonl"
        streams = lambda: {"c": enumerate(run.draws("c", 1, {"a.cpp": TEXT}))}
        origin = dict(seed=1, commit="abc")
        run.plant_all(fake, [component], streams(), 30, [], file, origin)
        entries = run.load(file)
        assert (folder / "a.cpp").read_text() == TEXT, "the file is as it was"
        for e in entries:
            want = ("killed", "near_test") if "<=" in e["after"] else ("killed", "far_test") if "!=" in e["after"] else ("survived", "")
            if re.search("&& a == 10", e["after"]):
                want = ("invalid", "does not build: no such thing")
            assert (e["verdict"], e["by"]) == want, f"verdict of {e['after']}"
        assert sum(e["verdict"] != "invalid" for e in entries) == 30, "30 that compile"
        assert {e["verdict"] for e in entries} == {"killed", "survived", "invalid"}, "all verdicts are met"
        # A run that was stopped resumes where it was, and gives what one run gives.
        half = folder / "half.jsonl"
        half.write_text("".join(json.dumps(e) + "\n" for e in entries[:10]))
        known = run.load(half)
        run.plant_all(fake, [component], streams(), 30, known, half, origin)
        plain = lambda list_: [(e["draw"], e["verdict"]) for e in list_]
        assert plain(run.load(half)) == plain(entries), "resumes"
        again = fake.builds
        run.plant_all(fake, [component], streams(), 30, known, half, origin)
        assert fake.builds == again, "nothing left to do"
        asked = len(fake.runs)
        near = run.verdict(fake, component, "a.cpp", next(f for _, f in run.draws("c", 1, {"a.cpp": TEXT}) if "!=" in f.after),
                           type("Green", (), {"limit": lambda self, stage: 1})(), 1)
        assert (near, fake.runs[asked:]) == (("survived", ""), ["near"]), "the first stage alone, and what it does not kill survives"
        good = run.report(entries)
        survivors = sum(e["verdict"] == "survived" for e in entries)
        assert good == (survivors <= 3), "the target is met up to 3 survivors"
        assert output.getvalue().count("SURVIVED a.cpp:") == survivors, "survivors are listed"
        assert f"killed {30 - survivors} of 30 mutants" in output.getvalue(), "counted"
        assert run.report([e for e in entries if e["verdict"] == "killed"]), "the target is met"
        assert not run.report([]), "no mutants is a failure"
        survivors_again(folder, component, entries, output)


def survivors_again(folder, component, entries, output):
    """Survivors are injected once more; a line that moved is found, a line that is gone is dropped."""
    class Later(Fake):
        """The first survivor's line has changed, everything moved down by a line, and every test is red now."""

        def __init__(self, folder, changed):
            self.tree, self.builds, self.runs, self.planted = folder, 0, [], []
            self.text = TEXT.replace(changed, changed + " // new").replace("// a.cpp - adds.\n", "// a.cpp - adds.\n// more\n")
            (folder / "a.cpp").write_text(self.text)

        def reset(self):
            assert (self.tree / "a.cpp").read_text() == self.text, "a mutant begins with the present text"

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
    assert {e["before"] for e in gone} == {survivors[0]["before"]}, "the changed line is dropped"
    assert [(e["line"], e["after"]) for e in rows if e["verdict"] == "killed"] == later.planted, "the others are killed"
    assert later.planted == [(e["line"] + 1, e["after"]) for e in survivors if e["before"] != survivors[0]["before"]], "a line further down"
    assert {(e["again"], e["commit"]) for e in rows} == {("abc", "def")}, "what they were"
    before = len(output.getvalue())
    assert run.report(entries + rows), "the later verdict counts"
    said, killed = output.getvalue()[before:], 30 - len(survivors)
    assert f"at first {killed} of 30" in said and f"killed {30 - len(gone)} of {30 - len(gone)} mutants" in said, "both counts"
    run.plant_again(later, [component], known, file, dict(seed=1, commit="def"))
    assert len(run.load(file)) == len(rows), "nothing left to plant"


def test_more_tests_of_the_same_commit_belong_to_the_first_count():
    row = lambda draw, verdict, **more: dict(seed=1, component="c", draw=draw, verdict=verdict, commit="abc", **more)
    rows = [row(0, "survived"), row(1, "survived"), row(0, "killed", again="abc"), dict(row(1, "killed", again="abc"), commit="def")]
    first, now = run.settled(rows)
    assert [e["verdict"] for e in first] == ["killed", "survived"] and [e["verdict"] for e in now] == ["killed", "killed"]


def test_chosen_components():
    names = lambda text: [c.name for c in run.components_of(text)]
    assert names("") == [c.name for c in COMPONENTS], "all"
    assert (names("memory"), "memory" in names("")) == (["memory"], False), "named only"
    assert run.alone_in([MEMORY]) == ("tessera_codegen_analysis", "tessera_codegen_gpu"), "its libraries alone"
    assert run.alone_in([MEMORY, COMPONENTS[0]]), "all where one names none"
    assert names("trainer,dialect") == ["dialect", "trainer"], "those listed, in the table's order"
    with pytest.raises(SystemExit, match="^no component no; there are language, "):
        run.components_of("dialect,no")


def test_the_seal():
    """What runs inside writes to its tree and to $TMPDIR, and nowhere else."""
    folder = BUILD / "mutants_test"
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("tree", "tmp", "outside"):
        (folder / name).mkdir(parents=True)
    script = f"pwd; touch inside; touch $TMPDIR/inside; touch {folder}/outside/file; touch $HOME/tessera-seal; echo end"
    done = subprocess.run(run.sealed(folder / "tree", folder / "tmp", ["sh", "-c", script]), capture_output=True, text=True)
    assert done.stdout.split() == [str(folder / "tree"), "end"], "runs"
    assert (folder / "tree" / "inside").exists() and (folder / "tmp" / "inside").exists(), "writes"
    assert not list((folder / "outside").iterdir()) and done.stderr.count("Read-only file system") == 2, "nowhere else"
    shutil.rmtree(folder)


def test_the_table():
    """Each expression of components.py means something: files, tests, targets."""
    files = subprocess.run(["git", "-C", str(run.ROOT), "ls-files"], capture_output=True, text=True, check=True).stdout.split()
    listing = subprocess.run(["ctest", "--test-dir", str(BUILD), "--show-only=json-v1", "-LE", "full"], capture_output=True, text=True)
    programs = {t["name"]: pathlib.Path(t["command"][0]) for t in json.loads(listing.stdout)["tests"]}
    tests = list(programs)
    known = subprocess.run(["ninja", "-C", str(BUILD), "-t", "targets", "all"], capture_output=True, text=True).stdout
    targets = {line.partition(":")[0] for line in known.splitlines()}
    for component in COMPONENTS + NAMED_ONLY:
        for target in component.alone:
            assert target in targets, f"{component.name}: library {target}"
        mine = [f for f in files if re.fullmatch(component.files, f)]
        assert bool(mine), f"{component.name} has sources"
        for stage in component.stages:
            for part in re.split(r"\|(?![^(]*\))", stage.tests):
                assert any(re.fullmatch(part, t) for t in tests), f"{component.name}: a test is called {part}"
            mine_here = [t for t in tests if re.fullmatch(stage.tests, t) and programs[t].parent == BUILD / "bin"]
            assert {programs[t].name for t in mine_here} - set(stage.targets) == set(), f"{component.name}: built for {stage.tests}"
            for target in stage.targets:
                assert target in targets, f"{component.name}: target {target}"
            assert any(re.search(stage.files, f) for f in mine), f"{component.name}: files {stage.files}"
    sources = [f for f in files if re.match(r"(autotune|codegen|compiler|dialect|language|library|models|ops|ptx|replay|runtime|simulator|support|"
                                            r"tools|trainer)/.*\.cpp$|(kernels|python/tessera|tools)/.*\.py$", f)]
    left = [f for f in sources if not any(re.fullmatch(c.files, f) for c in COMPONENTS)]
    assert left == [], "sources of no component"
