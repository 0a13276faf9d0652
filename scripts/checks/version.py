#!/usr/bin/env python3
"""Checks that the version is that of CMakeLists.txt wherever it is named, and that CHANGELOG.md describes it.

SPDX-License-Identifier: Apache-2.0
"""
import re
import subprocess
import sys

# Files in which a version is a value under test, or part of a result or an archive.
EXEMPT = re.compile(r"^(bench/results/|tests/)")
# An assignment of a version, which belongs to CMakeLists.txt alone.
ASSIGNED = re.compile(r"""__version__\s*=\s*["']|^version\s*=\s*["']""", re.M)
# The package's name before a number: tessera_0.2.0_amd64.deb, libtessera.so.0.2, find_package(tessera 0.2.
NAMED = re.compile(r"tessera(?:\.so\.|_|-torch_| )(\d+\.\d+(?:\.\d+)?)\b")


def read(path):
    with open(path, encoding="utf-8") as handle:
        return handle.read()


def declared(text):
    """The version in the call of project(), or None."""
    found = re.search(r"^project\(tessera VERSION (\d+\.\d+\.\d+)", text, re.M)
    return found and found[1]


def file_errors(path, text, version):
    """Messages about the versions that one file names."""
    errors = []
    for found in ASSIGNED.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        errors.append("%s:%d: sets a version; CMakeLists.txt has the only one" % (path, line))
    for found in NAMED.finditer(text):
        if found[1] not in (version, version.rsplit(".", 1)[0]):
            line = text.count("\n", 0, found.start()) + 1
            errors.append("%s:%d: names version %s, and CMakeLists.txt has %s" % (path, line, found[1], version))
    return errors


def main():
    version = declared(read("CMakeLists.txt"))
    if version is None:
        print("check: version: CMakeLists.txt has no `project(tessera VERSION X.Y.Z`")
        return 1
    errors = []
    files = subprocess.check_output(["git", "ls-files", "-co", "--exclude-standard", "--", "*.py", "*.pyi", "*.toml", "*.md", "*.txt",
                                     "*.cmake", "*.in", "scripts"], text=True).split("\n")
    for path in filter(None, files):
        if not EXEMPT.match(path) and path not in ("CHANGELOG.md", "scripts/checks/version.py"):
            errors += file_errors(path, read(path), version)
    if "## [%s]" % version not in read("CHANGELOG.md"):
        errors.append("CHANGELOG.md: no section `## [%s]`" % version)
    for error in errors:
        print("check: version: " + error)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
