#!/usr/bin/env python3
"""Checks that ctest runs the test functions of Python files with pytest: a plain `python FILE` would define them and pass.

SPDX-License-Identifier: Apache-2.0
"""
import os
import re
import subprocess
import sys

FUNCTION = re.compile(r"^(?:class Test\w*|def test_\w+)", re.M)
RUNS_ITSELF = re.compile(r"^if __name__ == .__main__.:", re.M)


def unrun(name, text, lists):
    """True for a file with test functions that the CMakeLists.txt of its folder starts as a plain program."""
    if not FUNCTION.search(text) or RUNS_ITSELF.search(text):
        return False
    return any(name in line for line in lists.splitlines() if "COMMAND" in line) or "tessera_pytest(" not in lists


def main():
    files = subprocess.check_output(["git", "ls-files", "-co", "--exclude-standard", "--", "tests/*_test.py"], text=True).split()
    failed = 0
    for path in files:
        lists = os.path.join(os.path.dirname(path), "CMakeLists.txt")
        if not os.path.exists(path) or not os.path.exists(lists):
            continue
        with open(path, encoding="utf-8") as source, open(lists, encoding="utf-8") as cmake:
            if unrun(os.path.basename(path), source.read(), cmake.read()):
                print("check: tests: %s does not run the test functions of %s: use tessera_pytest()" % (lists, path))
                failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
