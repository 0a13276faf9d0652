# tests/planted/run.py - plants bugs that earlier systems had, each in a copy of the source: its test must go red.
# SPDX-License-Identifier: Apache-2.0
"""run.py [only=NAME,...] [result=FILE] [apply=1]

Each patch in this folder names the bug, the test program and the test that finds it. The tracked files are copied to
build/planted/tree of the repository and built there; every named test must be green first, and red with its patch. A patch that
does not apply, a build that fails or a test that does not run is a failure, too. apply=1: whether each patch applies, and no more."""
import datetime
import json
import pathlib
import platform
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TREE = ROOT / "build/planted/tree"


def run(*command, **more):
    return subprocess.run(command, cwd=TREE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **more)


def copy_source():
    """Files that are the same keep their time, so that little is built again."""
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                           stdout=subprocess.PIPE, text=True, check=True).stdout.split("\0")
    there = {name for name in names if name and (ROOT / name).is_file()}
    for name in sorted(there):
        target = TREE / name
        if not target.exists() or target.read_bytes() != (ROOT / name).read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target)
    for path in TREE.rglob("*"):
        name = path.relative_to(TREE)
        if path.is_file() and name.parts[0] != "build" and str(name) not in there:
            path.unlink()


def header(patch):
    fields = dict(line.split(": ", 1) for line in patch.read_text().split("\n\n", 1)[0].splitlines())
    return fields["Bug"], fields["Target"], fields["Test"]


def build(targets):
    done = run("ninja", "-C", "build/release", "-j2", *targets)
    return "" if done.returncode == 0 else done.stdout[-3000:]


def failures_of(target, test):
    """Names of failed tests; None where none ran or the program did not end by itself."""
    report = TREE / "build/planted.json"
    report.unlink(missing_ok=True)
    done = run("build/release/bin/" + target, "--gtest_filter=" + test, "--gtest_output=json:" + str(report), timeout=1200)
    if done.returncode not in (0, 1) or not report.exists():
        return None
    told = json.loads(report.read_text())
    failed = [suite["name"] + "." + case["name"] for suite in told["testsuites"] for case in suite["testsuite"] if case.get("failures")]
    return failed if told["tests"] else None


def apply_all(patches):
    """How many patches do not apply to the sources as they are; changes nothing."""
    wrong = 0
    for patch in patches:
        tried = subprocess.run(["git", "apply", "--check", str(patch)], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, check=False)
        if tried.returncode:
            wrong += 1
            print(f"{patch.stem} does not apply: {tried.stdout}HINT: inject its bug into the present sources and write a new patch")
    print(f"{len(patches) - wrong} of {len(patches)} patches apply")
    return wrong


def examine(patch):
    """What is wrong with a patch, or nothing; and the tests that it made red."""
    bug, target, test = header(patch)
    applied = run("patch", "-p1", "--forward", "--fuzz=0", "-i", str(patch))
    try:
        if applied.returncode:
            return "does not apply: " + applied.stdout, []
        if wrong := build([target]):
            return "does not build: " + wrong, []
        failed = failures_of(target, test)
        if failed is None:
            return f"{target} --gtest_filter={test} did not run", []
        return ("" if failed else f"{test} stays green with the bug: {bug}"), failed
    finally:
        run("patch", "-p1", "--reverse", "--forward", "-i", str(patch))


def main():
    given = dict(argument.split("=", 1) for argument in sys.argv[1:])
    patches = [patch for patch in sorted(HERE.glob("*.patch")) if patch.stem in given.get("only", patch.stem).split(",")]
    if not patches:
        sys.exit("no patch of that name")
    if given.get("apply"):
        sys.exit(1 if apply_all(patches) else 0)
    start = time.time()
    TREE.mkdir(parents=True, exist_ok=True)
    copy_source()
    done = run("scripts/build", "release", *sorted({header(patch)[1] for patch in patches}))
    if done.returncode:
        sys.exit(done.stdout[-3000:])
    for target, test in sorted({header(patch)[1:] for patch in patches}):
        if failures_of(target, test) != []:
            sys.exit(f"{target} --gtest_filter={test} is not green without a bug")
    rows = []
    for patch in patches:
        wrong, failed = examine(patch)
        print(f"{patch.stem}: {wrong or 'red, as it must be: ' + ' '.join(failed)}", flush=True)
        rows.append({"bug": patch.stem, "red": failed, "wrong": wrong})
    if "result" in given:
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
        pathlib.Path(given["result"]).write_text(json.dumps(
            {"about": "bugs of earlier systems, injected one at a time: the tests that go red", "command": "python3 tests/planted/run.py "
             + " ".join(sys.argv[1:]), "commit": commit.stdout.strip(), "machine": platform.machine() + ", shared with other work",
             "date": str(datetime.date.today()), "seconds": round(time.time() - start), "bugs": rows}, indent=1) + "\n")
    sys.exit(1 if any(row["wrong"] for row in rows) else 0)


if __name__ == "__main__":
    main()
