#!/usr/bin/env python3
"""Checks the table of main loops in docs/codegen-report.md against bench/results/main_loops.json; --fix writes it.

SPDX-License-Identifier: Apache-2.0
"""
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
sys.dont_write_bytecode = True
from codegen import loop_table  # noqa: E402

RESULTS, PAGE = ROOT / "bench" / "results" / "main_loops.json", ROOT / "docs" / "codegen-report.md"
BEGIN, END = "<!-- main loops: written by scripts/checks/main_loops.py --fix -->", "<!-- end of main loops -->"


def block(result):
    ptxas = sorted({row["ptxas"] for row in result["rows"] if "ptxas" in row})
    return "\n".join([BEGIN, "torch %s, Triton %s, ptxas %s, %s, commit %s:" % (
        result["torch"], result["triton"], " and ".join(ptxas), result["date"], result["commit"]), "", loop_table.table(result["rows"]), END])


def main():
    text = PAGE.read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        print("check: %s lacks the lines %s and %s" % (PAGE.relative_to(ROOT), BEGIN, END))
        return 1
    result = json.loads(RESULTS.read_text(encoding="utf-8"))
    failed = [row["name"] for row in result["rows"] if "failed" in row]
    if failed:
        print("check: bench/results/main_loops.json lacks %s: run scripts/bench codegen sources=flash_attention --out bench/results/main_loops.json" % (
            "; ".join(failed)))
        return 1
    fresh = text.split(BEGIN)[0] + block(result) + text.split(END)[1]
    if fresh == text:
        return 0
    if "--fix" in sys.argv:
        PAGE.write_text(fresh, encoding="utf-8")
        return 0
    print("check: docs/codegen-report.md: the table of main loops is not that of bench/results/main_loops.json: run scripts/check --fix")
    return 1


if __name__ == "__main__":
    sys.exit(main())
