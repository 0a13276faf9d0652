#!/usr/bin/env python3
"""Checks the table of stages in docs/kernel-counts.md against bench/results/stages_sm_80.json, which tessera bench stages writes; --fix
writes the table.

SPDX-License-Identifier: Apache-2.0
"""
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "lib"))
sys.dont_write_bytecode = True
import page_block  # noqa: E402

RESULTS, PAGE = ROOT / "bench" / "results" / "stages_sm_80.json", ROOT / "docs" / "kernel-counts.md"
BEGIN, END = "<!-- tessera bench stages: written by scripts/checks/stages.py --fix -->", "<!-- end of tessera bench stages -->"
SUMS = ["launches", "flop", "flop_executed", "bytes", "l2_bytes", "tensor_instructions_needed", "tensor_instructions",
        "warp_instructions", "predicted_us"]


def merged(rows):
    """Launches of one kernel are one line, in the order of the first ones."""
    kernels = {}
    for row in rows:
        one = kernels.setdefault(row["kernel"], dict.fromkeys(SUMS, 0) | {"bound": []})
        for key in SUMS:
            one[key] += row.get(key, 0)
        if row["bound"] not in one["bound"]:
            one["bound"].append(row["bound"])
    return kernels


def mega(value):
    return "-" if not value else "%.3g" % (value / 1e6)


def count(value):
    return "-" if not value else "%.0f" % value if value < 1e4 else "%.3gk" % (value / 1e3) if value < 1e6 else "%.3gM" % (value / 1e6)


def table(result):
    geometry, rows = result["geometry"], result["rows"]
    lengths = sorted({row["tokens"] for row in rows})
    assert len(lengths) == 1, "one length"
    lines = ["One sequence of %d tokens, %d query heads, %d KV heads of %d and %d channels, l=%d d=%d l'=%d n=%d w=%d, %s: what each kernel "
             "does on %s, and the time predicted for an %s (`%s`, commit %s, %s; [all figures](../bench/results/stages_sm_80.json), "
             "[what they are](bench.md)). MFLOP and tensor instructions: those that pairs which are seen need, and those executed." % (
                 lengths[0], geometry["heads"], geometry["kv_heads"], geometry["d_k"], geometry["d_v"], geometry["l"], geometry["d"],
                 geometry["l_sel"], geometry["n_sel"], geometry["w"], geometry["precision"], result["device"]["target"],
                 rows[0]["predicted_for"].upper(), result["command"], result["commit"], result["date"]), "",
             "| kernel | MFLOP needed | executed | MB of arguments | of L2 | tensor instructions needed | executed | warp instructions "
             "| predicted us | bound |", "|---|" + "---:|" * 8 + "---|"]
    for kernel, one in merged(rows).items():
        name = "`%s`" % kernel + (" x %d" % one["launches"] if one["launches"] > 1 else "")
        lines.append("| %s | %s | %s | %s | %s | %s | %s | %s | %.1f | %s |" % (
            name, mega(one["flop"]), mega(one["flop_executed"]), mega(one["bytes"]), mega(one["l2_bytes"]),
            count(one["tensor_instructions_needed"]), count(one["tensor_instructions"]), count(one["warp_instructions"]),
            one["predicted_us"], ", ".join(one["bound"])))
    return "\n".join([BEGIN] + lines + [END])


def main():
    texts = page_block.replaced(PAGE, "docs/kernel-counts.md", BEGIN, END, table(json.loads(RESULTS.read_text(encoding="utf-8"))))
    return page_block.settle({PAGE: texts[1]} if texts[0] != texts[1] else {},
                             "docs/kernel-counts.md: the table of stages is not what bench/results/stages_sm_80.json says") if texts else 1


if __name__ == "__main__":
    sys.exit(main())
