#!/usr/bin/env python3
"""Checks that #include lines follow the component table of docs/architecture.md
and that no folders of codegen/ include each other in a circle.

SPDX-License-Identifier: Apache-2.0
"""
import os
import re
import subprocess
import sys

# component -> (project components it may include, library prefixes it may include)
STD_ONLY = set()
PLAIN = {"fmt", "spdlog", "yaml-cpp", "nlohmann"}
LLVM = {"mlir", "llvm", "lld"}
TORCH = {"torch", "ATen", "c10", "caffe2"}
RULES = [
    # longest prefix first
    ("language", {"support"}, PLAIN),
    ("ptx", {"support"}, PLAIN),
    ("compiler", {"support", "language", "compiler", "dialect", "codegen", "ptx"}, PLAIN | LLVM),
    ("dialect/layout", set(), STD_ONLY),
    ("dialect", {"dialect", "support"}, LLVM),
    ("codegen", {"codegen", "dialect", "ptx", "support"}, PLAIN | LLVM),
    ("simulator", {"ptx", "support"}, PLAIN),
    # Devices, tables and the recorder register with launches, which know none of them.
    ("runtime/launch", {"runtime/Kernel.h", "runtime/Arguments.h", "runtime/compile", "support", "language"}, PLAIN),
    ("runtime/device/sim", {"runtime", "simulator", "support", "language"}, PLAIN),
    ("runtime", {"runtime", "support", "language"}, PLAIN),
    ("replay/packed", {"replay", "autotune/table", "runtime", "support", "language"}, PLAIN),
    ("replay", {"runtime", "simulator", "support", "language"}, PLAIN),
    ("autotune/table", {"support", "language"}, PLAIN),
    ("autotune/choice", {"autotune/table", "runtime", "support", "language"}, PLAIN),
    ("autotune", {"autotune", "replay", "runtime", "simulator", "support", "language"}, PLAIN),
    # The one component that knows all parts of libtessera.so.
    ("library", {"autotune/choice", "replay", "runtime"}, PLAIN),
    ("ops", {"runtime", "support", "language"}, PLAIN | TORCH),
    ("reference", set(), STD_ONLY),
    ("models", {"models", "ops", "runtime", "support"}, PLAIN | TORCH),
    ("trainer/settings", {"trainer", "models", "ops/Estimates.h", "runtime/launch/FindFile.h", "runtime/launch/PatternFile.h", "support"}, PLAIN),
    ("trainer/data", {"trainer", "support"}, PLAIN | TORCH),
    ("trainer", {"trainer", "models", "ops", "autotune/table", "runtime", "support"}, PLAIN | TORCH | {"arrow", "parquet", "zstd"}),
    ("support", set(), PLAIN),
]
FREE = ("tools/", "tests/", "bench/", "cmake/", "examples/")
LIBRARIES = PLAIN | LLVM | TORCH | {"arrow", "parquet", "zstd", "cuda"}
COMPONENTS = {"support", "language", "ptx", "compiler", "dialect", "codegen", "simulator", "runtime", "replay",
              "autotune", "library", "ops", "reference", "models", "trainer", "tools", "tests"}


def rule_for(path):
    for prefix, own, libs in RULES:
        if path.startswith(prefix + "/"):
            return prefix, own, libs
    return None


def inside(path, components):
    return any(path == c or path.startswith(c + "/") for c in components)


def check(path, text):
    rule = rule_for(path)
    if rule is None:
        return ["%s: not in any component of docs/architecture.md" % path]
    prefix, own, libs = rule
    errors = []
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if not match:
            continue
        target = match.group(2)
        first = target.split("/")[0]
        if first in COMPONENTS:
            allowed = inside(target, own | {prefix})
        elif first in LIBRARIES:
            allowed = first in libs
        else:
            continue
        if not allowed:
            errors.append("%s:%d: %s may not include %s" % (path, number, prefix, target))
    return errors


def folder_edges(sources, root):
    """(folder, folder) -> "file includes file", one example, for `sources`: path -> text."""
    edges = {}
    for path, text in sorted(sources.items()):
        if not path.startswith(root + "/"):
            continue
        for target in re.findall(r'^\s*#\s*include\s*"(%s/[^"]+)"' % root, text, re.M):
            edge = os.path.dirname(path), os.path.dirname(target)
            if edge[0] != edge[1]:
                edges.setdefault(edge, "%s includes %s" % (path, target))
    return edges


def folder_cycle(edges):
    """The folders of a shortest circle, in order; empty if there is none."""
    shortest = []
    for start in sorted({a for a, _ in edges}):
        ways, seen = [[start]], {start}
        while ways:
            way = ways.pop(0)
            for a, b in sorted(edges):
                if a != way[-1]:
                    continue
                if b == start and (not shortest or len(way) < len(shortest)):
                    shortest = way
                if b not in seen:
                    seen.add(b)
                    ways.append(way + [b])
    return shortest


def main():
    files = subprocess.check_output(
        ["git", "ls-files", "-co", "--exclude-standard", "--", "*.cpp", "*.h"], text=True).split()
    errors, sources = [], {}
    for path in files:
        if path.startswith(FREE):
            continue
        try:
            with open(path, encoding="utf-8") as handle:
                sources[path] = handle.read()
        except FileNotFoundError:
            continue
        errors += check(path, sources[path])
    for error in errors:
        print("check: include: " + error)
    if errors:
        print("check: HINT: the table of allowed directions is in docs/architecture.md")
    edges = folder_edges(sources, "codegen")
    cycle = folder_cycle(edges)
    for a, b in zip(cycle, cycle[1:] + cycle[:1]):
        print("check: include: a circle of folders: %s" % edges[a, b])
    if cycle:
        print("check: HINT: move what both need to the folder below, as codegen/gpu/kernel/Attributes.h")
    return 1 if errors or cycle else 0


if __name__ == "__main__":
    sys.exit(main())
