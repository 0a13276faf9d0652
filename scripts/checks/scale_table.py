#!/usr/bin/env python3
"""Checks the table of docs/training/one-to-sixty-four.md against bench/results/scale.json, which bench/run.py scale writes; --fix writes it.

SPDX-License-Identifier: Apache-2.0
"""
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "lib"))
sys.dont_write_bytecode = True
import page_block  # noqa: E402

RESULT, NAME = ROOT / "bench" / "results" / "scale.json", "docs/training/one-to-sixty-four.md"
BEGIN, END = "<!-- ranks: written by scripts/checks/scale_table.py --fix -->", "<!-- end of ranks -->"


def table(result):
    lines = ["| ranks | tokens of a step | memory | ZeRO 1 | sent, fp32 | step | tokens/s | efficiency | sent, bf16 | step | efficiency |", "|---:" * 11 + "|"]
    for row in result["rows"]:
        full, short = row["fp32"], row["bf16"]
        lines.append("| %d | %s | %.1f GiB | %.1f GiB | %.0f MB | %.0f ms | %s | %.3f | %.0f MB | %.0f ms | %.3f |" % (
            row["ranks"], format(row["tokens_of_a_step"], ","), full["memory_bytes"] / 2 ** 30, row["zero_stage_1_bytes"] / 2 ** 30,
            full["sent_bytes"] / 1e6, full["step_ms"],
            format(round(full["tokens_per_s"], -3), ","), full["efficiency"], short["sent_bytes"] / 1e6, short["step_ms"], short["efficiency"]))
    return "\n".join([BEGIN, *lines, END])


def main():
    texts = page_block.replaced(ROOT / NAME, NAME, BEGIN, END, table(json.loads(RESULT.read_text(encoding="utf-8"))))
    return page_block.settle({ROOT / NAME: texts[1]} if texts[0] != texts[1] else {},
                             "%s: the table is not what bench/results/scale.json contains" % NAME) if texts else 1


if __name__ == "__main__":
    sys.exit(main())
