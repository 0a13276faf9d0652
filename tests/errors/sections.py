#!/usr/bin/env python3
"""tests/errors/sections.py FOLDER - reads the cases of tests/errors; as a program, writes the code of each to FOLDER.

ErrorsTest.cpp describes the form of the files. The fuzz targets start from the files that the program writes.
Copyright the tessera authors.
SPDX-License-Identifier: Apache-2.0
"""
import collections
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
CASES = HERE / "cases"
LAUNCHES = HERE / "launches.py"
SEPARATOR = "\n# -----\n"
EXPECT = "\n# expect:\n"

# source: the text of the section up to `# expect:`. code: the part of it that is compiled or run.
Section = collections.namedtuple("Section", "name title why fix source code expected")


def notes(head):
    """(name, title, Why, Fix) of the comments that open a section."""
    first, *rest = head.splitlines()
    name, title = first.removeprefix("# ").split(" - ", 1)
    found = {}
    for line in rest:
        start = re.match(r"# (Why|Fix): (.*)", line)
        if start:
            key = start[1]
            found[key] = start[2]
        else:
            found[key] += " " + line.lstrip("# ")
    return name, title, found["Why"], found["Fix"]


def expected_text(lines, place):
    text = ""
    for line in lines:
        if not re.match(r"# \|( |$)", line):
            raise ValueError("%s: a line after `# expect:` does not begin with `# | `: %s" % (place, line))
        text += line[4:] + "\n"
    return text


def read(path):
    """The sections of a file."""
    result = []
    for text in path.read_text(encoding="utf-8").split(SEPARATOR)[1:]:
        source, _, expected = text.partition(EXPECT)
        source = source.rstrip("\n") + "\n"
        head, _, code = source.partition("\n\n")
        place = "%s: %s" % (path.name, head.splitlines()[0])
        lines = expected.rstrip("\n").split("\n") if expected.strip("\n") else []
        result.append(Section(*notes(head), source, code, expected_text(lines, place)))
    if not result:
        raise ValueError("%s: no line `# -----`, so no case" % path)
    return result


def write(path, sections):
    """Replaces the sections of a file; its header stays."""
    header = path.read_text(encoding="utf-8").split(SEPARATOR)[0].rstrip("\n") + "\n"
    path.write_text(header + "".join(render(section) for section in sections), encoding="utf-8")


def render(section):
    if not section.expected:
        return SEPARATOR + section.source
    lines = ["# | " + line if line else "# |" for line in section.expected.removesuffix("\n").split("\n")]
    return SEPARATOR + section.source + EXPECT + "\n".join(lines) + "\n"


def cases():
    """The sections of every file of cases/."""
    return [section for path in sorted(CASES.glob("*.py")) for section in read(path)]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    fresh = {section.name + ".py": section.code for section in cases()}
    for old in folder.glob("*.py"):
        if old.name not in fresh:
            old.unlink()
    for name, code in fresh.items():
        (folder / name).write_text(code, encoding="utf-8")


if __name__ == "__main__":
    main()
