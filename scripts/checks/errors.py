#!/usr/bin/env python3
"""docs/language/errors.md: made of tests/errors, checked to be fresh; --fix writes it.

SPDX-License-Identifier: Apache-2.0
"""
import os
import re
import sys

PAGE = "docs/language/errors.md"
CASES = "tests/errors/cases"
LONGEST = 45            # lines of an example or message that the page shows

INTRO = """# Errors: what the compiler says, and what to do

Every message has one form: the place, what is wrong, an id in brackets, the line with a caret under
the part that is meant, the chain of calls that led there, and a HINT with what to write instead.

This page has an example for every id. It is made from `tests/errors/cases`, where a test compiles
each example and compares the whole text of the message, by `scripts/check --fix`.
"""


def read(path):
    with open(path, encoding="utf-8") as handle:
        return handle.read()


def ids():
    """The ids of Diagnostics.def, in its order."""
    return re.findall(r"^DIAG\((\w+),", read("support/Diagnostics.def"), re.M)


def parse(slug):
    """(title, why, fix, example, message) of a case."""
    head, _, example = read("%s/%s.py" % (CASES, slug)).partition("\n\n")
    lines = head.splitlines()
    title = lines[0].split(" - ", 1)[1]
    notes = {}
    for line in lines[3:]:
        found = re.match(r"# (Why|Fix): (.*)", line)
        if found:
            key = found[1]
            notes[key] = found[2]
        else:
            notes[key] += " " + line.lstrip("# ")
    return title, notes["Why"], notes["Fix"], example, read("%s/%s.txt" % (CASES, slug))


def shortened(text):
    lines = text.rstrip("\n").splitlines()
    if len(lines) > LONGEST:
        gap = "... (%d lines)" % (len(lines) - LONGEST + 5)
        lines = lines[:LONGEST - 20] + [gap] + lines[-15:]
    return "\n".join(line if len(line) < 160 else line[:150] + " ..." for line in lines)


def page():
    by_id = {}
    for name in sorted(os.listdir(CASES)):
        slug, ending = os.path.splitext(name)
        if ending != ".py":
            continue
        case = parse(slug)
        found = re.search(r"^\S.*: (?:error|note): .* \[(\w+)\]$", case[4], re.M)
        by_id.setdefault(found[1] if found else "Launch", []).append((slug, case))
    order = [i for i in ids() + ["Launch"] if i in by_id]
    text = [INTRO]
    text.append("| id | examples |\n|---|---|")
    for name in order:
        text.append("| [%s](#%s) | %s |" % (name, name.lower(), ", ".join(case[0] for _, case in by_id[name])))
    for name in order:
        text.append("\n## %s" % name)
        for slug, (title, why, fix, example, message) in by_id[name]:
            text.append("\n### %s\n" % (title[0].upper() + title[1:]))
            text.append("```python\n%s\n```\n\n```text\n%s\n```\n" % (shortened(example), shortened(message)))
            text.append("%s\n\nFix: %s" % (why, fix))
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
