#!/usr/bin/env python3
"""Checks file sizes, banners and leftover marks.

SPDX-License-Identifier: Apache-2.0
"""
import re
import subprocess
import sys

CAP, TEST_CAP = 700, 1000
MARKS = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")


def cap_for(path):
    return TEST_CAP if path.startswith("tests/") or path.endswith(".td") else CAP


def main():
    files = subprocess.check_output(
        ["git", "ls-files", "-co", "--exclude-standard", "--", "*.cpp", "*.h", "*.td", "*.py", "*.cmake",
         "scripts/*"], text=True).split()
    errors = []
    for path in files:
        try:
            with open(path, encoding="utf-8") as handle:
                lines = handle.read().splitlines()
        except FileNotFoundError:
            continue
        if len(lines) > cap_for(path):
            errors.append("%s: %d lines, the cap is %d: split it by subject" % (path, len(lines), cap_for(path)))
        if path.endswith((".cpp", ".h", ".td")) and "SPDX-License-Identifier" not in "\n".join(lines[:5]):
            errors.append("%s: no SPDX line in its banner" % path)
        if path == "scripts/checks/sizes.py":
            continue
        for number, line in enumerate(lines, 1):
            if MARKS.search(line):
                errors.append("%s:%d: leftover mark" % (path, number))
    for error in errors:
        print("check: " + error)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
