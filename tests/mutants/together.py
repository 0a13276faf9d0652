# tests/mutants/together.py - runs all tests of `make test` with all survivors of run.py at once.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""together.py results=FILE commit=COMMIT [only=COMPONENT:DRAW] [tests=EXPRESSION] [jobs=2] [prefix=COMMAND]

run.py runs the tests of a mutant's component. The complete list takes an hour, too long for each survivor. This program injects all
survivors of `results` at once, builds everything and runs the list: a test that passes does not notice any of them, unless two of them
cancel each other. It prints the tests that fail.

tests=EXPRESSION runs only the tests with these names. only=COMPONENT:DRAW injects that survivor alone, which tells which one made a test
fail, and appends its verdict to `results`; only=none injects nothing, which shows whether a test fails without a mutant."""
import datetime
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import run  # noqa: E402

TARGETS = ("all", "tests")


def survivors(entries, only):
    """The entries to inject: survivors so far; with `only`, that one, also if a later line calls it killed."""
    now = run.settled(entries)[1]
    if only == "none":
        return []
    if only:
        found = [e for e in now if f"{e['component']}:{e['draw']}" == only]
        return found or sys.exit(f"results have no mutant {only}; names are like {now[0]['component']}:{now[0]['draw']}" if now
                                 else "the file of results has no mutants")
    return [e for e in now if e["verdict"] == "survived"]


def inject(tree, entries):
    """Changes the lines of `entries` in the files of `tree`. Two mutants of one line are an error."""
    texts = {}
    for entry in entries:
        path = tree / entry["file"]
        lines = texts.setdefault(path, path.read_text().split("\n"))
        if lines[entry["line"] - 1] != entry["before"]:
            sys.exit(f"{entry['file']}:{entry['line']}: not the line of the mutant; was it made at another commit, or by another mutant?")
        lines[entry["line"] - 1] = entry["after"]
    for path, lines in texts.items():
        if path.suffix != ".py" and lines[0].startswith("//"):
            lines[0] = run.QUIET
        path.write_text("\n".join(lines))


def failed(output):
    """The names of the tests that ctest reports as failed, sorted."""
    return sorted(set(re.findall(r"Test +#\d+: (\S+) .*\*\*\*", output)))


def run_tests(scratch, tests):
    """Runs the tests and prints each as it ends. Returns the failed ones; stops where ctest ran nothing."""
    chosen = ["-R", f"^({tests})$"] if tests else []
    command = run.sealed(scratch.tree, scratch.temporary, ["ctest", "--test-dir", str(scratch.build), *chosen, "-LE", "full", "-j",
                                                           str(scratch.jobs), "--no-tests=error", "--timeout", "1500"])
    process = subprocess.Popen([*scratch.prefix, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                               env=dict(os.environ, TEST_COMPLETE="1"))
    output = ""
    for line in process.stdout:
        print(line, end="", flush=True)
        output += line
    process.wait()
    if "tests passed" not in output:
        sys.exit("ctest ran nothing")
    return failed(output)


def settings_of(arguments):
    known = dict(results="", commit="", only="", tests="", jobs="2", prefix="")
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if name not in known or not equals:
            sys.exit(__doc__.split("\n\n")[0])
        known[name] = value
    if not known["results"] or not known["commit"] or (known["only"] and not known["tests"]):
        sys.exit(__doc__.split("\n\n")[0])
    return known


def main():
    given = settings_of(sys.argv[1:])
    results = pathlib.Path(given["results"])
    commit = run.run_or_stop(["git", "-C", str(run.ROOT), "rev-parse", "--short=12", given["commit"]]).strip()
    entries = survivors([e for e in run.load(results) if e["commit"] == commit], given["only"])
    scratch = run.Scratch(commit, given["prefix"], int(given["jobs"]), alone=False)
    scratch.prepare()
    scratch.reset()
    inject(scratch.tree, entries)
    print(f"{len(entries)} mutants injected; building", flush=True)
    start = time.time()
    try:
        if said := scratch.ninja(TARGETS):
            sys.exit(f"does not build: {said}")
        red = run_tests(scratch, given["tests"])
    finally:
        run.run_or_stop(["git", "-C", str(scratch.tree), "checkout", "-q", "--force", commit])
    print("failed: " + (", ".join(red) or "none"))
    if given["only"] not in ("", "none"):
        verdict = dict(verdict="killed" if red else "survived", by=", ".join(red), seconds=round(time.time() - start), again=commit)
        origin = dict(commit=commit, date=datetime.date.today().isoformat(), machine=run.machine(),
                      command="tests/mutants/together.py " + shlex.join(sys.argv[1:]))
        with results.open("a") as file:
            file.write(json.dumps({**entries[0], **verdict, **origin}) + "\n")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\nstopped; the sources of the scratch tree are unchanged again")
