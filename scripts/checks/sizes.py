#!/usr/bin/env python3
"""Checks file sizes, banners and leftover marks; in codegen/ and dialect/ also files of a folder and lines of a function.

SPDX-License-Identifier: Apache-2.0
"""
import collections
import os
import re
import subprocess
import sys

CAP, TEST_CAP = 700, 1000
FOLDER_CAP, FUNCTION_CAP = 25, 80
# What the two caps above hold for.
SPLIT = ("codegen/", "dialect/")
MARKS = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")


def cap_for(path):
    return TEST_CAP if path.startswith("tests/") or path.endswith(".td") else CAP

# Stands in for a header of another project.
FOREIGN_BANNERS = {"tests/author/cuda/cuda.h"}
LAST_BANNER_LINES = ["// Copyright the tessera authors.", "// SPDX-License-Identifier: Apache-2.0"]


def banner_errors(path, lines):
    """Checks the comment that opens a file: path and purpose, then copyright and licence on a line each."""
    size = next((i for i, line in enumerate(lines) if not line.startswith("//")), len(lines))
    banner = lines[:size]
    if not banner or not banner[0].startswith("// %s - " % path):
        return ["%s:1: the banner does not open with `// %s - PURPOSE`" % (path, path)]
    found = next((i for i in range(1, len(banner)) if banner[i:i + 2] == LAST_BANNER_LINES), None)
    if found is None:
        return ["%s:1: the banner needs `%s` and `%s`, each on a separate line" % (path, *LAST_BANNER_LINES)]
    return []


TEXTS = re.compile(r'R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*(?:.|\n)*?\*/|\'(?:\\.|[^\'\\])\'')
HEADER = re.compile(r"\)\s*(?:const|noexcept|final|override|mutable|->\s*[\w:<>,\s*&]+|:\s*[^;{]*)*\s*$")
NO_FUNCTION = re.compile(r"^(?:if|for|while|switch|else|catch|do)\b|\b(?:namespace|class|struct|enum)\b")


def long_functions(text):
    """(line of its brace, lines of its body) of each function or lambda above the cap. The text is as clang-format leaves it."""
    masked = TEXTS.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
    found, stack = [], []
    for brace in re.finditer(r"[{}]", masked):
        if brace[0] == "{":
            header = re.split(r"[;{}]", masked[max(0, brace.start() - 800):brace.start()])[-1].strip()
            of_loop = header.count(")") > header.count("(")  # the rest of a `for (;;)`
            stack.append((bool(HEADER.search(header)) and not of_loop and not NO_FUNCTION.search(header), brace.start()))
        elif stack:
            is_function, start = stack.pop()
            lines = masked.count("\n", start, brace.start()) - 1
            if is_function and lines > FUNCTION_CAP:
                found.append((masked.count("\n", 0, start) + 1, lines))
    return found


def full_folders(files):
    """(folder, count) of each above the cap."""
    counts = collections.Counter(os.path.dirname(path) for path in files if path.startswith(SPLIT))
    return [(folder, count) for folder, count in sorted(counts.items()) if count > FOLDER_CAP]


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
        if path.endswith((".cpp", ".h", ".td")) and path not in FOREIGN_BANNERS:
            errors += banner_errors(path, lines)
        if path == "scripts/checks/sizes.py":
            continue
        if path.startswith(SPLIT) and path.endswith((".cpp", ".h")):
            errors += ["%s:%d: a function of %d lines, the cap is %d: split it by subject" % (path, line, count, FUNCTION_CAP)
                       for line, count in long_functions("\n".join(lines))]
        for number, line in enumerate(lines, 1):
            if MARKS.search(line):
                errors.append("%s:%d: leftover mark" % (path, number))
    errors += ["%s: %d files, the cap is %d: make folders by subject" % (folder, count, FOLDER_CAP) for folder, count in full_folders(files)]
    for error in errors:
        print("check: " + error)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
