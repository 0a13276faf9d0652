#!/usr/bin/env python3
"""docs/language/errors.md: a line for each id of support/Diagnostics.def; checked to be fresh, --fix writes it.

SPDX-License-Identifier: Apache-2.0
"""
import os
import re
import sys

PAGE = "docs/language/errors.md"
CASES = "tests/errors/cases"
LAUNCHES = "tests/errors/launches"
UNREACHABLE = "tests/errors/unreachable.txt"

INTRO = """# Errors

Every message has one form: the place, what is wrong, an id in brackets, the line with carets under the part that is
wrong, the chain of calls that led there, and a hint that says what to write instead.

Each id has examples with the reason, the correction and the complete message. A test compiles each example and
compares the message.

| id | meaning | examples |
|---|---|---|"""


def read(path):
    with open(path, encoding="utf-8") as handle:
        return handle.read()


def meanings():
    """[(id, its meaning)] in the order of Diagnostics.def."""
    return re.findall(r"^// (.*)\nDIAG\((\w+), \w+\)$", read("support/Diagnostics.def"), re.M)


def undescribed():
    known = {name for _, name in meanings()}
    return [name for name in re.findall(r"^DIAG\((\w+),", read("support/Diagnostics.def"), re.M) if name not in known]


def first_cases():
    """{id: the first case whose message has it}, for cases in a file each."""
    found = {}
    for name in sorted(os.listdir(CASES)):
        if name.endswith(".txt"):
            for diagnostic in re.findall(r"^\S.*: (?:error|note): .* \[(\w+)\]$", read("%s/%s" % (CASES, name)), re.M)[:1]:
                found.setdefault(diagnostic, "%s/%s.py" % (CASES, name[:-4]))
    return found


def examples(name, first):
    """The file with the examples of an id, and its name."""
    path = "%s/%s.py" % (CASES, name)
    path = path if os.path.exists(path) else first.get(name, UNREACHABLE)
    return "[%s](../../%s)" % (os.path.basename(path), path)


def page():
    first = first_cases()
    lines = ["| `%s` | %s | %s |" % (name, meaning, examples(name, first)) for meaning, name in meanings()]
    launches = LAUNCHES + ".py" if os.path.exists(LAUNCHES + ".py") else LAUNCHES
    lines.append("\nErrors of a program that launches kernels: [%s](../../%s)." % (os.path.basename(launches), launches))
    return "\n".join([INTRO] + lines) + "\n"


def main():
    for name in undescribed():
        print("check: support/Diagnostics.def: %s has no line with its meaning" % name)
    if undescribed():
        return 1
    fresh = page()
    if os.path.exists(PAGE) and read(PAGE) == fresh:
        return 0
    if "--fix" in sys.argv:
        with open(PAGE, "w", encoding="utf-8") as handle:
            handle.write(fresh)
        return 0
    print("check: docs: %s does not match support/Diagnostics.def and tests/errors: run scripts/check --fix" % PAGE)
    return 1


if __name__ == "__main__":
    sys.exit(main())
