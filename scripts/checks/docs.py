#!/usr/bin/env python3
"""Checks the documentation: links resolve, paths in backticks exist, README has at most 120 lines and no generated block.

SPDX-License-Identifier: Apache-2.0
"""
import os
import re
import subprocess
import sys

LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
# A path in backticks that starts with one of our top folders and has no pattern in it.
PATH = re.compile(r"`((?:support|language|ptx|compiler|dialect|codegen|simulator|runtime|replay|autotune|library|ops|reference|"
                  r"models|trainer|kernels|tools|tests|docs|configs|scripts|cmake)/[\w./-]*)`")


README_LINES = 120


def readme_problems(text):
    """README is short, and a person writes every line of it."""
    count, found = len(text.splitlines()), []
    if count > README_LINES:
        found.append("README.md: %d lines, the cap is %d: move what a newcomer does not need to docs/" % (count, README_LINES))
    if "<!--" in text:
        found.append("README.md: a generated block: move it to docs/results.md")
    return found


def main():
    files = subprocess.check_output(
        ["git", "ls-files", "-co", "--exclude-standard", "--", "*.md"], text=True).split()
    errors = []
    for path in files:
        if not os.path.exists(path):
            continue
        with open(path, encoding="utf-8") as handle:
            text = handle.read()
        for number, line in enumerate(text.splitlines(), 1):
            for target in LINK.findall(line):
                if "://" in target or target.startswith("mailto:"):
                    continue
                if not os.path.exists(os.path.join(os.path.dirname(path), target)):
                    errors.append("%s:%d: link to %s, which does not exist" % (path, number, target))
            for target in PATH.findall(line):
                if not os.path.exists(target):
                    errors.append("%s:%d: names %s, which does not exist" % (path, number, target))
        if path == "README.md":
            errors += readme_problems(text)
    for error in errors:
        print("check: docs: " + error)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
