# tests/ctest/run_tests_test.py - scripts/run-tests on made-up test lists: what is left out must fail.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import pytest
from repository import ROOT, load

PROGRAM = ROOT / "scripts/run-tests"
run_tests = load("scripts/run-tests")

GTEST_SKIPPED = """[==========] Running 2 tests from 1 test suite.
[ RUN      ] Folder.ReadOnly
[  SKIPPED ] Folder.ReadOnly (0 ms)
[       OK ] Folder.Other (0 ms)
[  PASSED  ] 1 test.
[  SKIPPED ] 1 test, listed below:
[  SKIPPED ] Folder.ReadOnly
"""
NONE = "[==========] Running 0 tests from 0 test suites.\n[  PASSED  ] 0 tests.\n"
PYTEST = """.s                                                  [100%]
=========================== short test summary info ============================
SKIPPED [1] tests/a_test.py:3: no torch
1 passed, 1 skipped in 0.01s
"""
SWITCHED_OFF = "[==========] Running 1 test from 1 test suite.\n[  PASSED  ] 1 test.\n\n  YOU HAVE 2 DISABLED TESTS\n"


def run(tests, *arguments, cache=""):
    """tests: name -> (what it prints, exit status, properties); cache: a CMakeCache.txt. Exit status and output of run-tests."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        text = ""
        for name, (prints, status, properties) in tests.items():
            (folder / f"{name}.sh").write_text(f"cat <<END\n{prints}\nEND\nexit {status}\n")
            text += f'add_test({name} "/bin/sh" "{folder}/{name}.sh")\n'
            text += f"set_tests_properties({name} PROPERTIES SKIP_RETURN_CODE 77 {properties})\n"
        (folder / "CTestTestfile.cmake").write_text(text)
        (folder / "CMakeCache.txt").write_text(cache)
        # Also where this test itself runs under a sanitizer.
        clean = {name: value for name, value in os.environ.items() if name not in ("ASAN_OPTIONS", "UBSAN_OPTIONS")}
        done = subprocess.run([sys.executable, str(PROGRAM), str(folder), *arguments], capture_output=True, text=True, env=clean)
        return done.returncode, done.stdout + done.stderr


def test_a_good_run():
    code, output = run({"good": ("[==========] Running 10 tests from 3 test suites.", 0, "")})
    assert code == 0 and "FAILED" not in output, output
    assert "100% tests passed, 0 tests failed out of 1" in output, output
    assert output.rstrip().splitlines()[-1].startswith("Total Test time"), output


@pytest.mark.parametrize("test, part", [
    pytest.param(("boom", 1, ""), "odd (Failed)", id="a failure"),
    pytest.param(("boom", 1, ""), "boom", id="what a failure prints"),
    pytest.param(("skipped: no torch", 77, ""), "odd: skipped itself (skipped: no torch)", id="exit status 77"),
    pytest.param((GTEST_SKIPPED, 0, ""), "odd: Folder.ReadOnly skipped itself", id="GTEST_SKIP"),
    pytest.param(("word " * 300000 + "\n" + GTEST_SKIPPED, 0, ""), "odd: Folder.ReadOnly skipped itself", id="GTEST_SKIP after much text"),
    pytest.param(("PASS: tessera :: a.mlir (1 of 2)\nUNSUPPORTED: tessera :: b.mlir (2 of 2)", 0, ""), "tessera :: b.mlir skipped itself", id="lit"),
    pytest.param((PYTEST, 0, ""), "odd: tests/a_test.py:3: no torch skipped itself", id="pytest"),
    pytest.param(("=== 2 passed, 1 xfailed, 4 skipped in 1.04s ===", 0, ""), "odd: 4 of its tests skipped themselves", id="pytest without -rs"),
    pytest.param(("1 passed, 2 subtests passed, 3 skipped in 61.20s (0:01:01)", 0, ""), "odd: 3 of its tests", id="pytest with subtests"),
    pytest.param((NONE, 0, ""), "odd: ran no test", id="a filter without a match"),
    pytest.param((SWITCHED_OFF, 0, ""), "2 of its tests switched off", id="switched off in the source"),
    pytest.param(("fine", 0, "DISABLED TRUE"), "odd: is switched off", id="switched off in CMake"),
])
def test_fails_and_names(test, part):
    code, output = run({"good": ("fine", 0, ""), "odd": test})
    assert code != 0, output
    assert part in output, output


def test_pytest_without_skips():
    code, output = run({"good": ("..u.  [100%]\n3 passed, 1 deselected, 2 subtests passed in 0.01s", 0, "")})
    assert code == 0 and "FAILED" not in output, output


@pytest.mark.parametrize("text", ["def test_one(): pytest.skip('no torch')", "@pytest.mark.skip\ndef test_one(): pass", "def other(): pass",
                                  "pytest.importorskip('absent')\ndef test_one(): pass", "def test_one(subtests):\n  with subtests.test(): pytest.skip()"])
def test_pytest_itself(text, tmp_path):
    """What the installed pytest prints of a test that leaves something out."""
    file = tmp_path / "a_test.py"
    file.write_text("import pytest\n" + text + "\n")
    (tmp_path / "CTestTestfile.cmake").write_text(f'add_test(python "{sys.executable}" -m pytest -q -rs -p no:cacheprovider "{file}")\n')
    done = subprocess.run([sys.executable, str(PROGRAM), str(tmp_path)], capture_output=True, text=True)
    assert done.returncode != 0, done.stdout


def test_options_of_sanitizers():
    """Undefined behaviour that only prints would pass: it must end the program."""
    show = {"show": ("[$UBSAN_OPTIONS][$ASAN_OPTIONS]", 0, "")}
    code, output = run(show, "-V", cache="TESSERA_SANITIZE:STRING=address,undefined\n")
    assert "[halt_on_error=1:" in output and "allow_user_poisoning=0" in output, output
    code, output = run(show, "-V", cache="TESSERA_SANITIZE:STRING=\n")
    assert "halt_on_error" not in output, output


@pytest.mark.parametrize("given, seen", [({}, "passive"), ({"OMP_WAIT_POLICY": "active"}, "active")])
def test_waiting_threads_leave_the_core_to_other_tests(given, seen, monkeypatch):
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    code, output = run({"show": ("policy [$OMP_WAIT_POLICY]", 0, "")}, "-V")
    assert code == 0 and f"policy [{seen}]" in output, output


def test_summary(tmp_path):
    file = tmp_path / "summary.json"
    busy = "$(n=0; while [ $n -lt 300000 ]; do n=$((n + 1)); done)"
    tests = {"good": (busy, 0, ""), "bad": ("fine", 1, ""), "skips": ("no torch", 77, ""), "long": ("fine", 0, "LABELS full")}
    code, output = run(tests, "--summary", str(file), "-LE", "full")
    assert code != 0 and "1 left out" in output, output
    got = json.loads(file.read_text())
    assert set(got["seconds"]) == {"good", "bad", "skips"} and got["entries"] == 3 and got["failed"] == ["bad"]
    assert got["left_out"] == ["skips: skipped itself (no torch)"] and got["arguments"] == ["-LE", "full"]
    assert 0 < got["seconds"]["good"] <= got["entries_s"] + 1 and got["cpu_s"] <= 2 * got["wall_s"] + 2
    assert {"commit", "cpu", "cores", "load_before", "load_after"} <= set(got)
    code, output = run(tests, "--summary")
    assert code != 0 and "--summary needs a file" in output, output


def test_no_test_at_all():
    code, output = run({"good": ("fine", 0, "")}, "-R", "^bad$")
    assert code != 0, output


def test_without_a_gpu():
    """Tests that need a GPU are not selected, counted and named. The label of what is present changes nothing."""
    if run_tests.NEEDS["needs-gpu"]():
        return
    gpu = {"good": ("fine", 0, ""), "launch": ("ran", 1, "LABELS needs-gpu"), "long": ("ran", 1, 'LABELS "needs-gpu;full"')}
    code, output = run(gpu)
    assert code == 0 and "not selected, needs-gpu: 2 tests (launch, long)" in output, output
    code, output = run({**gpu, "slow": ("ran", 1, "LABELS full")}, "-LE", "full")
    assert code == 0 and "not selected, needs-gpu: 1 test (launch)" in output, output
    assert "out of 1" in output, output


def test_exclusions():
    split, exclusions = run_tests.split_exclusions, run_tests.exclusions
    assert split(["-j", "2", "-LE", "full", "-R", "x"]) == (["-j", "2", "-R", "x"], ["full"])
    assert split(["--label-exclude", "a", "--label-exclude=b"]) == ([], ["a", "b"])
    assert exclusions(["full"], []) == ["-LE", "(full)"] and exclusions([], []) == []
    assert exclusions([], ["needs-gpu"]) == ["-LE", r"^needs\-gpu$"]
