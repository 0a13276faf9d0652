#!/usr/bin/env python3
"""Checks the tables of main loops in docs/codegen-report.md against bench/results/main_loops.json; --fix writes it.

SPDX-License-Identifier: Apache-2.0
"""
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "scripts" / "lib")]
sys.dont_write_bytecode = True
import page_block  # noqa: E402
from codegen import loop_table  # noqa: E402

RESULTS, PAGE = ROOT / "bench" / "results" / "main_loops.json", ROOT / "docs" / "codegen-report.md"
BEGIN, END = "<!-- main loops: written by scripts/checks/main_loops.py --fix -->", "<!-- end of main loops -->"
LISTING, LISTING_END = "<!-- forward loop: written by scripts/checks/main_loops.py --fix -->", "<!-- end of forward loop -->"


def block(result):
    ptxas = sorted({row["ptxas"] for row in result["rows"] if "ptxas" in row})
    return "\n".join([BEGIN, "torch %s, Triton %s, ptxas %s, %s, commit %s:" % (
        result["torch"], result["triton"], " and ".join(ptxas), result["date"], result["commit"]), "", loop_table.table(result["rows"]), END])


def main():
    result = json.loads(RESULTS.read_text(encoding="utf-8"))
    failed = [row["name"] for row in result["rows"] if "failed" in row]
    if failed:
        print("check: bench/results/main_loops.json lacks %s: run scripts/bench codegen sources=flash_attention --out bench/results/main_loops.json" % (
            "; ".join(failed)))
        return 1
    texts = page_block.replaced(PAGE, PAGE.relative_to(ROOT), BEGIN, END, block(result))
    if not texts:
        return 1
    before, after = texts
    listing = "\n".join([LISTING, loop_table.listing(result["rows"]), LISTING_END])
    if LISTING not in after or LISTING_END not in after:
        print("check: docs/codegen-report.md lacks the lines %s and %s" % (LISTING, LISTING_END))
        return 1
    after = after.split(LISTING)[0] + listing + after.split(LISTING_END)[1]
    return page_block.settle({PAGE: after} if before != after else {},
                             "docs/codegen-report.md: the tables of main loops are not those of bench/results/main_loops.json")


if __name__ == "__main__":
    sys.exit(main())
