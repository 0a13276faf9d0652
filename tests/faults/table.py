#!/usr/bin/env python3
"""The table of docs/faults.md from the XML that faults_test writes.

  build/release/bin/faults_test --gtest_output=xml:faults.xml
  python3 tests/faults/table.py faults.xml           prints the table
  python3 tests/faults/table.py faults.xml --write   puts it into docs/faults.md
  python3 tests/faults/table.py faults.xml --check   compares; exit 1 when it differs

A test that was skipped (no root, no mounts) has no figures: --check leaves its line alone, --write keeps the old one.

SPDX-License-Identifier: Apache-2.0
"""
import os
import sys
import xml.etree.ElementTree

PAGE = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "faults.md")
COLUMNS = [("attempts", "requests"), ("right", "right answer"), ("error", "clear error"), ("wrong", "wrong or crash"),
           ("compiled", "compiled"), ("loaded", "from the cache"), ("quarantined", "quarantined"),
           ("memory", "kept in memory only")]
BEGIN, END = "<!-- table: tests/faults/table.py -->", "<!-- end of table -->"


def lines_of(path):
    """Attack -> line of the table; None for the line of a test that failed or gave no figures."""
    lines = {}
    for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        properties = {p.get("name"): p.get("value") for p in case.iter("property")}
        if "attack" not in properties:
            continue
        if case.find("failure") is not None:
            sys.exit("table: %s failed" % case.get("name"))
        cells = [properties["attack"]] + [properties.get("count_" + key, "-") for key, _ in COLUMNS]
        cells[4] = properties.get("count_wrong", "0")
        lines[properties["attack"]] = "| " + " | ".join(cells) + " |"
    return lines


def main():
    with open(PAGE, encoding="utf-8") as handle:
        page = handle.read()
    head, rest = page.split(BEGIN + "\n")
    old_text, tail = rest.split(END)
    old = {line.split(" | ")[0][2:]: line for line in old_text.splitlines()[2:]}
    new = lines_of(sys.argv[1])
    if "--check" in sys.argv:
        wrong = [line for attack, line in new.items() if old.get(attack) != line]
        for line in wrong:
            print("docs/faults.md lacks, or has otherwise:\n  " + line)
        if wrong:
            print("HINT: python3 tests/faults/table.py %s --write" % sys.argv[1])
        print("%d lines compared" % len(new))
        return 1 if wrong or not new else 0
    old.update(new)
    table = "| attack | " + " | ".join(title for _, title in COLUMNS) + " |\n"
    table += "|---|" + "---|" * len(COLUMNS) + "\n"
    table += "".join(line + "\n" for line in old.values())
    if "--write" in sys.argv:
        with open(PAGE, "w", encoding="utf-8") as handle:
            handle.write(head + BEGIN + "\n" + table + END + tail)
    else:
        sys.stdout.write(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
