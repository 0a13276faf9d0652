#!/usr/bin/env python3
"""Checks the documentation: links resolve, paths in backticks exist, README under 200 lines.

SPDX-License-Identifier: Apache-2.0
"""
import os
import re
import shutil
import subprocess
import sys

LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
# A path in backticks that starts with one of our top folders and has no pattern in it.
PATH = re.compile(r"`((?:support|language|ptx|compiler|dialect|codegen|simulator|runtime|replay|autotune|library|ops|reference|"
                  r"models|trainer|kernels|tools|tests|docs|configs|scripts|cmake)/[\w./-]*)`")


def dialect_page():
    """docs/dialect/tile.md as mlir-tblgen makes it from the .td files; None without the tool."""
    tool = shutil.which("mlir-tblgen-22")
    if tool is None:
        return None
    return subprocess.check_output(
        [tool, "-gen-dialect-doc", "-dialect=tile", "-I", ".", "-I", "/usr/lib/llvm-22/include",
         "dialect/tile/td/TileOps.td"], text=True)


def check_dialect_page(fix):
    path, fresh = "docs/dialect/tile.md", dialect_page()
    if fresh is None:
        return []
    with open(path, encoding="utf-8") as handle:
        if handle.read() == fresh:
            return []
    if fix:
        with open(path, "w", encoding="utf-8") as handle:
            handle.write(fresh)
        return []
    return ["%s is not what dialect/tile/td says: run scripts/check --fix" % path]


def main():
    files = subprocess.check_output(
        ["git", "ls-files", "-co", "--exclude-standard", "--", "*.md"], text=True).split()
    errors = check_dialect_page("--fix" in sys.argv)
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
        if path == "README.md" and len(text.splitlines()) >= 200:
            errors.append("README.md: %d lines, must stay under 200" % len(text.splitlines()))
    for error in errors:
        print("check: docs: " + error)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
