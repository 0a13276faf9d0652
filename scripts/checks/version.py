#!/usr/bin/env python3
"""Checks that the version is that of CMakeLists.txt wherever it is named, that CHANGELOG.md describes it, and that files name the
versions of torch and Triton that scripts/deps.lock pins.

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
# (file, pattern of the version in it, the wheel of scripts/deps.lock whose version it is, or the section that has the wheel).
WHEELS = (("python/tessera/_library.py", r'^TORCH = "(.*?)"', "torch"), ("python/tessera/triton.py", r'^VERSION = "(.*?)"', "triton-3.9"),
          ("docs/python.md", r"\bIt needs torch (\d+\.\d+)", "torch"), ("docs/packs.md", r"\bwith torch (\d+\.\d+)", "torch"),
          ("docs/cpp.md", r"\bheaders of torch (\d+\.\d+)", "torch"), ("docs/language/types.md", r"\bof Triton (\d+\.\d+)", "triton-3.9"))


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


def wheel_errors(path, text, pattern, wheel, lock):
    """Messages about the version of a wheel that a file names, with or without its last parts."""
    section = max(0, lock.find("\n[%s]\n" % wheel))
    wheel = wheel.split("-")[0]
    pinned = re.search(r"^%s==(\S+)" % wheel, lock[section:], re.M)[1]
    found = re.search(pattern, text, re.M)
    if not found:
        return ["%s: does not name the version of %s: correct the file, or its pattern in scripts/checks/version.py" % (path, wheel)]
    if (pinned + ".").startswith(found[1] + "."):
        return []
    line = text.count("\n", 0, found.start()) + 1
    return ["%s:%d: names %s %s, and scripts/deps.lock has %s" % (path, line, wheel, found[1], pinned)]


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
    for path, pattern, wheel in WHEELS:
        errors += wheel_errors(path, read(path), pattern, wheel, read("scripts/deps.lock"))
    if "## [%s]" % version not in read("CHANGELOG.md"):
        errors.append("CHANGELOG.md: no section `## [%s]`" % version)
    for error in errors:
        print("check: version: " + error)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
