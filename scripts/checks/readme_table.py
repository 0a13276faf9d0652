#!/usr/bin/env python3
"""Checks the speed table of README.md against bench/results/cpu.json: the times, ratios, machine and version. A person writes the table.

SPDX-License-Identifier: Apache-2.0
"""
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts" / "checks")]
sys.dont_write_bytecode = True
from cpu_table import time  # noqa: E402

RESULT = "bench/results/cpu.json"
HEAD = "| workload | tessera | alternative | ratio |"
MOST = 8  # rows
# The row of the result file for each workload of README's table.
WORKLOADS = {
    "Dense attention, forward, 4,096 tokens, fp32": "flash_fwd_f32_s4096",
    "NSA, forward, 8,192 tokens, fp32": "nsa_fwd_s8192_vs_sdpa",
    "NSA, forward and backward, 8,192 tokens, fp32": "nsa_fwdbwd_s8192_vs_sdpa",
    "NSA, forward, 8,192 tokens, fp32, same algorithm": "nsa_fwd_s8192_vs_torch_nsa",
    "Training step, quick-start NSA model, fp32": "train_step_nsa_s512_quickstart",
    "Training step, dense 11M-parameter model, bf16": "train_step_dense_s1024_11m_bf16",
    "Matrix product, 1,024 x 1,024, fp32": "matmul_f32_1024",
    "Softmax, 8,192 x 1,024, fp32": "softmax",
}


def rows_below_head(lines):
    """(line number from 1, cells) of each row of the table; none without its head."""
    if HEAD not in lines:
        return []
    first = lines.index(HEAD) + 2  # the line below the head aligns the columns
    last = next((i for i in range(first, len(lines)) if not lines[i].startswith("|")), len(lines))
    return [(i + 1, [cell.strip() for cell in lines[i].strip("|").split("|")]) for i in range(first, last)]


def row_problems(cells, entries):
    """What differs between one row of the table and its entry in the result file."""
    name = WORKLOADS.get(cells[0])
    if len(cells) != 4 or name not in entries:
        return ["`%s` has no row in %s: add it to WORKLOADS of scripts/checks/readme_table.py" % (cells[0], RESULT)]
    entry = entries[name]
    ours, theirs, ratio = time(entry["ours"], entry["unit"]), time(entry["peer"], entry["unit"]), "%.2fx" % entry["ratio"]
    wrong = [(shown, right) for shown, right in ((cells[1], ours), (cells[2].rpartition(": ")[2], theirs), (cells[3], ratio)) if shown != right]
    return ["%s: %s, but %s of %s has %s" % (cells[0], shown, name, RESULT, right) for shown, right in wrong]


def problems(text, result):
    lines, entries = text.splitlines(), {entry["name"]: entry for entry in result["rows"]}
    rows = rows_below_head(lines)
    if not 0 < len(rows) <= MOST:
        return ["README.md: %d rows below `%s`, need 1 to %d" % (len(rows), HEAD, MOST)]
    found = ["README.md:%d: %s" % (number, problem) for number, cells in rows for problem in row_problems(cells, entries)]
    machine = "%d threads of an %s with %s, PyTorch %s." % (
        result["threads"], result["cpu"], "AVX-512" if result.get("avx512") else "AVX2", result["torch"].split("+")[0])
    for part, what in ((machine, "the machine of the table"), ("](%s)" % RESULT, "the link to the result file")):
        if part not in text:
            found.append("README.md: lacks %s: `%s`" % (what, part))
    return found


def main():
    result = json.loads((ROOT / RESULT).read_text(encoding="utf-8"))
    found = problems((ROOT / "README.md").read_text(encoding="utf-8"), result)
    for problem in found:
        print("check: " + problem)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
