# tests/ctest/run_tests_test.py - scripts/run-tests on made-up test lists: what is left out must fail.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import importlib.machinery
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "run-tests"
loader = importlib.machinery.SourceFileLoader("run_tests", str(PROGRAM))
run_tests = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_tests", loader))
loader.exec_module(run_tests)
failures = []

GTEST_SKIPPED = """[==========] Running 2 tests from 1 test suite.
[ RUN      ] Folder.ReadOnly
[  SKIPPED ] Folder.ReadOnly (0 ms)
[       OK ] Folder.Other (0 ms)
[  PASSED  ] 1 test.
[  SKIPPED ] 1 test, listed below:
[  SKIPPED ] Folder.ReadOnly
"""
NONE = "[==========] Running 0 tests from 0 test suites.\n[  PASSED  ] 0 tests.\n"
SWITCHED_OFF = "[==========] Running 1 test from 1 test suite.\n[  PASSED  ] 1 test.\n\n  YOU HAVE 2 DISABLED TESTS\n"


def expect(what, condition, output=""):
    if not condition:
        failures.append(f"{what}\n{output}")


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


def one(what, test, part):
    """A test list of a good one and `test`: fails and says `part`."""
    code, output = run({"good": ("fine", 0, ""), "odd": test})
    expect(f"{what}: fails", code != 0, output)
    expect(f"{what}: says so", part in output, output)


code, output = run({"good": ("[==========] Running 10 tests from 3 test suites.", 0, "")})
expect("a good run", code == 0 and "FAILED" not in output, output)
expect("ctest's closing line", "100% tests passed, 0 tests failed out of 1" in output, output)
expect("ctest has the last line", output.rstrip().splitlines()[-1].startswith("Total Test time"), output)
one("a failure", ("boom", 1, ""), "odd (Failed)")
one("what a failure prints", ("boom", 1, ""), "boom")
one("exit status 77", ("skipped: no torch", 77, ""), "odd: skipped itself (skipped: no torch)")
one("GTEST_SKIP", (GTEST_SKIPPED, 0, ""), "odd: Folder.ReadOnly skipped itself")
one("GTEST_SKIP behind much text", ("word " * 300000 + "\n" + GTEST_SKIPPED, 0, ""), "odd: Folder.ReadOnly skipped itself")
one("lit", ("PASS: tessera :: a.mlir (1 of 2)\nUNSUPPORTED: tessera :: b.mlir (2 of 2)", 0, ""), "tessera :: b.mlir skipped itself")
one("a filter without a match", (NONE, 0, ""), "odd: ran no test")
one("switched off in the source", (SWITCHED_OFF, 0, ""), "2 of its tests switched off")
one("switched off in CMake", ("fine", 0, "DISABLED TRUE"), "odd: is switched off")
# Undefined behaviour that only prints would pass: it must end the program.
show = {"show": ("[$UBSAN_OPTIONS][$ASAN_OPTIONS]", 0, "")}
code, output = run(show, "-V", cache="TESSERA_SANITIZE:STRING=address,undefined\n")
expect("with sanitizers", "[halt_on_error=1:" in output and "allow_user_poisoning=0" in output, output)
code, output = run(show, "-V", cache="TESSERA_SANITIZE:STRING=\n")
expect("without", "halt_on_error" not in output, output)
code, output = run({"good": ("fine", 0, "")}, "-R", "^bad$")
expect("no test at all", code != 0, output)

# What is absent: not selected, counted, named. The label of what is here changes nothing.
gpu = {"good": ("fine", 0, ""), "launch": ("ran", 1, "LABELS needs-gpu"), "long": ("ran", 1, 'LABELS "needs-gpu;full"')}
if not run_tests.NEEDS["needs-gpu"]():
    code, output = run(gpu)
    expect("without a GPU", code == 0 and "not selected, needs-gpu: 2 tests (launch, long)" in output, output)
    code, output = run({**gpu, "slow": ("ran", 1, "LABELS full")}, "-LE", "full")
    expect("without a GPU, -LE full", code == 0 and "not selected, needs-gpu: 1 test (launch)" in output, output)
    expect("-LE full holds", "out of 1" in output, output)
split, exclusions = run_tests.split_exclusions, run_tests.exclusions
expect("-LE is found", split(["-j", "2", "-LE", "full", "-R", "x"]) == (["-j", "2", "-R", "x"], ["full"]))
expect("--label-exclude is found", split(["--label-exclude", "a", "--label-exclude=b"]) == ([], ["a", "b"]))
expect("nothing absent", exclusions(["full"], []) == ["-LE", "(full)"] and exclusions([], []) == [])
expect("absent", exclusions([], ["needs-gpu"]) == ["-LE", r"^needs\-gpu$"])

for line in failures:
    print("FAILED", line)
print("failures:", len(failures))
sys.exit(1 if failures else 0)
