# tools/gpucheck/table.py - prints the results of tessera-gpu-check as a Markdown table.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""table.py [RESULT.json] [--all]

RESULT is that of a run, by default the newest of bench/results/gpu_*.json. One row for each kernel: its instances, the geometric
mean of our times over Triton's, its slowest instance with time and rate. --all: a row for each instance."""
import argparse
import json
import math
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def ratio_of(row):
    return row["us"] / row["peer_us"] if row.get("us") and row.get("peer_us") else None


def rate(row):
    parts = []
    for key, unit, scale in (("bytes_per_s", "GB/s", 1e9), ("flop_per_s", "TFLOP/s", 1e12)):
        if key in row:
            share = f" ({100 * row[key + '_of_peak']:.0f} %)" if key + "_of_peak" in row else ""
            parts.append(f"{row[key] / scale:.3g} {unit}{share}")
    return ", ".join(parts)


def cell(value, form):
    return "" if value is None else format(value, form)


def rows_by_instance(cases):
    lines = ["| instance | result | us | Triton us | ratio | rate (of the device's peak) |", "|---|---|---:|---:|---:|---|"]
    for row in cases:
        lines.append(f"| {row['case']} | {row['status']} | {cell(row.get('us'), '.1f')} | {cell(row.get('peer_us'), '.1f')} | "
                     f"{cell(ratio_of(row), '.2f')} | {rate(row)} |")
    return lines


def rows_by_kernel(cases):
    kernels = {}
    for row in cases:
        kernels.setdefault(row["kernel"] or row["case"], []).append(row)
    lines = ["| kernel | instances ok | time over Triton's | longest: us | rate (of the device's peak) |", "|---|---:|---:|---:|---|"]
    for kernel, rows in kernels.items():
        good = sum(row["status"] == "ok" for row in rows)
        longest = max(rows, key=lambda row: row.get("us", 0))
        ratios = [ratio_of(row) for row in rows if ratio_of(row)]
        lines.append(f"| {kernel} | {good} of {len(rows)} | {cell(mean(ratios), '.2f')} | {cell(longest.get('us'), '.1f')} | "
                     f"{rate(longest)} |")
    return lines


def table(result, everything):
    pack, release = result.get("pack", {}), result.get("driver_release", "")
    driver = f"{result['driver'] // 1000}.{result['driver'] % 1000 // 10}"
    lines = [f"{result['gpu']}, driver {release + ' ' if release else ''}for CUDA {driver}, {result['date'][:10]}, "
             f"commit {pack.get('commit') or 'unknown'}: {result['ok']} of {len(result['cases'])} cases ok; medians of "
             f"{result['launches_timed']} launches" + (" on a cleared cache." if result.get("cleared_cache") else "."), ""]
    lines += rows_by_instance(result["cases"]) if everything else rows_by_kernel(result["cases"])
    if "peer_ratio" in result:
        lines += ["", f"Geometric mean of our times over Triton's: {result['peer_ratio']:.3f}."]
    wrong = [row["case"] for row in result["cases"] if row["status"] != "ok"]
    if wrong:
        lines += ["", f"Not ok: {', '.join(wrong)}."]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", nargs="?", type=pathlib.Path)
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    path = options.result
    if path is None:
        found = [(json.loads(one.read_text())["date"], one) for one in (ROOT / "bench" / "results").glob("gpu_*.json")]
        if not found:
            print("bench/results has no gpu_*.json: no GPU was measured yet")
            return
        path = max(found)[1]
    print(table(json.loads(path.read_text()), options.all), end="")


if __name__ == "__main__":
    main()
