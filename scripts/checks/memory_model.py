#!/usr/bin/env python3
"""Checks the drawing of docs/compiler/memory-model.md: who asks which part of codegen/analysis, and the order of the passes.

The drawing has a column for each of three headers and a row for each user; a `+` says that a source of that row includes the
header. The rows are ROWS below, the order is that of codegen/gpu/passes/PassList.cpp.

SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE, PASSES = "docs/compiler/memory-model.md", "codegen/gpu/passes/PassList.cpp"
# row of the drawing -> its sources, below codegen/gpu
ROWS = {
    "tessera-pipeline-loops": "pipeline/PipelineLoops.cpp pipeline/StagedLoads.cpp pipeline/SplitLoads.cpp pipeline/Pipeline.h",
    "tessera-promote-operands": "pipeline/PromoteOperands.cpp",
    "tessera-async-waits": "memory/AsyncWaits.cpp",
    "tessera-allocate-shared": "memory/AllocateShared.cpp memory/Scratch.cpp memory/Scratch.h",
    "SharedLiveness": "memory/SharedLiveness.cpp memory/SharedLiveness.h",
    "tessera-memory-barriers": "memory/MemoryBarriers.cpp",
    "Mma, Dot, Shared": "lower/dot/Mma.cpp lower/dot/Dot.cpp lower/dot/Fma.cpp lower/shared/Shared.cpp lower/shared/SmemTile.h",
}
INCLUDE = re.compile(r'^\s*#\s*include\s*"codegen/analysis/(\w+)\.h"', re.M)


def drawn(page):
    """{row: the headers with a +}, and the headers in the order of their columns."""
    lines = page.splitlines()
    head = next(n for n, line in enumerate(lines) if re.fullmatch(r"\s+(?:\w+\s+){2}\w+", line) and "PointerOrigins" in line)
    columns = [match.start() for match in re.finditer(r"\|", lines[head + 1])]
    headers = lines[head].split()
    rows = {}
    for line in lines[head + 2:]:
        if not line.strip():
            break
        name = re.split(r"\s*\+|\s{2,}", line.strip())[0]
        rows[name] = {header for header, column in zip(headers, columns) if line[column:column + 1] == "+"}
    return rows, headers


def included(sources, headers):
    """{row: the headers that its sources include}, and the sources of no row that include one. sources: path -> text."""
    rows, strangers = {row: set() for row in ROWS}, []
    owner = {"codegen/gpu/" + path: row for row, paths in ROWS.items() for path in paths.split()}
    for path, text in sorted(sources.items()):
        asked = set(INCLUDE.findall(text)) & set(headers)
        if path in owner:
            rows[owner[path]] |= asked
        elif asked and not path.startswith("codegen/analysis/"):
            strangers.append(path)
    return rows, strangers


def order_drawn(page):
    """The GPU's passes after the layouts, as the drawing has them."""
    line = re.search(r"order of passes:\s+layouts -> ([\w> -]+)", page)
    return line[1].strip().split(" -> ") if line else []


def order_of(text):
    """Of PassList.cpp: the names of the passes as they are added."""
    return [re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower() for name in re.findall(r"gpu::create(\w+)Pass\(", text)]


def problems(page, sources, passes):
    rows, headers = drawn(page)
    asked, strangers = included(sources, headers)
    found = [f"{path} asks codegen/analysis and belongs to no row of the drawing" for path in strangers]
    for row in sorted(set(rows) | set(asked)):
        if row not in rows or row not in asked:
            found.append(f"`{row}` is a row of the {'drawing' if row in rows else 'table'} alone")
        elif rows[row] != asked[row]:
            found.append(f"`{row}` has a + for {', '.join(sorted(rows[row])) or 'nothing'}, its sources include "
                         f"{', '.join(sorted(asked[row])) or 'nothing'}")
    drawn_order, real = order_drawn(page), order_of(passes)
    if not drawn_order or drawn_order != [name for name in real if name in drawn_order] or drawn_order[-1] != real[-1]:
        found.append(f"the order of passes is {' -> '.join(drawn_order)}, {PASSES} has {' -> '.join(real)}")
    return found


def main():
    paths = [p for folder in ("codegen", "compiler") for p in (ROOT / folder).rglob("*") if p.suffix in (".cpp", ".h")]
    sources = {p.relative_to(ROOT).as_posix(): p.read_text(encoding="utf-8") for p in paths}
    found = problems((ROOT / PAGE).read_text(encoding="utf-8"), sources, sources[PASSES])
    for problem in found:
        print(f"check: {PAGE}: {problem}")
    if found:
        print("check: HINT: correct the drawing, or ROWS of scripts/checks/memory_model.py where a source has moved")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
