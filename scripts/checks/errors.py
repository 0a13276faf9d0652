#!/usr/bin/env python3
"""docs/language/errors.md: made of tests/errors, checked to be fresh; --fix writes it.

SPDX-License-Identifier: Apache-2.0
"""
import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "errors"))
import sections  # noqa: E402 - the reader of the cases belongs to tests/errors

PAGE = "docs/language/errors.md"
CASES = {case.name: case for case in sections.cases()}
LAUNCHES = {case.name: case for case in sections.read(sections.LAUNCHES)}
LONGEST = 45            # lines of an example or message that the page shows

INTRO = """# Errors: what the compiler says, and what to do

Every message has one form: the place, what is wrong, an id in brackets, the line with a caret under
the part that is meant, the chain of calls that led there, and a HINT with what to write instead.

This page has an example for every id. It is made from `tests/errors`, where a test compiles or runs
each example and compares the whole text of the message, by `scripts/check --fix`.
"""


def read(path):
    with open(path, encoding="utf-8") as handle:
        return handle.read()


def ids():
    """The ids of Diagnostics.def, in its order."""
    return re.findall(r"^DIAG\((\w+),", read("support/Diagnostics.def"), re.M)


def slugs(cases):
    return sorted(cases)


def parse(cases, slug):
    """(title, why, fix, example, message) of a case."""
    case = cases[slug]
    return case.title, case.why, case.fix, case.code, case.expected


def shortened(text):
    lines = text.rstrip("\n").splitlines()
    if len(lines) > LONGEST:
        gap = "... (%d lines)" % (len(lines) - LONGEST + 5)
        lines = lines[:LONGEST - 20] + [gap] + lines[-15:]
    return "\n".join(line if len(line) < 160 else line[:150] + " ..." for line in lines)


def section(text, case):
    title, why, fix, example, message = case
    text.append("\n### %s\n" % (title[0].upper() + title[1:]))
    text.append("```python\n%s\n```\n\n```text\n%s\n```\n" % (shortened(example), shortened(message)))
    text.append("%s\n\nFix: %s" % (why, fix))


def page():
    by_id = {}
    for slug in slugs(CASES):
        case = parse(CASES, slug)
        found = re.search(r"^\S.*: (?:error|note): .* \[(\w+)\]$", case[4], re.M)
        by_id.setdefault(found[1], []).append(case)
    order = [i for i in ids() if i in by_id]
    text = [INTRO]
    text.append("| id | examples |\n|---|---|")
    for name in order:
        text.append("| [%s](#%s) | %s |" % (name, name.lower(), ", ".join(case[0] for case in by_id[name])))
    text.append("| [launches](#launches) | %s |" % ", ".join(parse(LAUNCHES, slug)[0] for slug in slugs(LAUNCHES)))
    for name in order:
        text.append("\n## %s" % name)
        for case in by_id[name]:
            section(text, case)
    text.append("\n## Launches\n\nMistakes of a program that launches the kernels of this file:\n")
    text.append("```python\n%s\n```" % read("tests/errors/modules/add.py").split("Apache-2.0\n")[1].strip())
    for slug in slugs(LAUNCHES):
        section(text, parse(LAUNCHES, slug))
    excused = [line for line in read("tests/errors/unreachable.txt").splitlines()
               if line and not line.startswith("#")]
    if excused:
        text.append("\n## Ids without an example\n")
    for line in excused:
        text.append("* `%s`: %s" % tuple(line.split(": ", 1)))
    return "\n".join(text) + "\n"


def main():
    fresh = page()
    if os.path.exists(PAGE) and read(PAGE) == fresh:
        return 0
    if "--fix" in sys.argv:
        with open(PAGE, "w", encoding="utf-8") as handle:
            handle.write(fresh)
        return 0
    print("check: docs: %s is not what tests/errors say: run scripts/check --fix" % PAGE)
    return 1


if __name__ == "__main__":
    sys.exit(main())
