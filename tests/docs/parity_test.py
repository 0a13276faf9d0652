"""tests/docs/parity_test.py - every line of tests/docs/parity.md names tests that exist, or the reason why there is none.
SPDX-License-Identifier: Apache-2.0
"""
import re

import pytest
from repository import ROOT

PAGE = (ROOT / "tests/docs/parity.md").read_text()
TEST = re.compile(r"^\s*(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)", re.MULTILINE)


def known_tests():
    known = set()
    for source in (ROOT / "tests").rglob("*.cpp"):
        known.update(suite + "." + name for suite, name in TEST.findall(source.read_text()))
    return known


def faults(page, known):
    found, ids = [], []
    for number, line in enumerate(page.splitlines(), 1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|") or len(cells) != 3 or cells[0] in ("what", "id") or set(cells[0]) == {"-"}:
            continue
        if re.fullmatch(r"R\d+", cells[0]):
            ids.append(int(cells[0][1:]))
        elif cells[1] not in ("M", "S"):
            found.append("line %d: neither R1 to R52 nor M or S" % number)
        named = [name for name in re.findall(r"`([^`]+)`", cells[2]) if "." in name]
        for name in named:
            if name not in known and not (ROOT / name).is_file():
                found.append("line %d: no test %s" % (number, name))
        if not named and not re.search(r"\bnone\b.*\w{3}", cells[2]):
            found.append("line %d: names no test and no reason" % number)
    if ids != list(range(1, 53)):
        found.append("the failures listed are %s" % ids)
    return found


def test_page():
    assert faults(PAGE, known_tests()) == []


@pytest.mark.parametrize("before, after", (("`AdamW.ClipReadsOneNumber`", "`AdamW.NoSuchTest`"), ("| R7 |", "| R6 |"),
                                           ("none: tessera does not have this dependency", "")), ids=("no test", "number", "no reason"))
def test_mistakes_are_found(before, after):
    assert before in PAGE
    assert faults(PAGE.replace(before, after, 1), known_tests())
