#!/usr/bin/env python3
"""Checks the table and the plot of `make bench` in docs/results.md against bench/results/cpu.json; --fix writes both.

SPDX-License-Identifier: Apache-2.0
"""
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "bench"), str(ROOT / "scripts" / "lib")]
sys.dont_write_bytecode = True
import page_block  # noqa: E402
from cpu import table as rows  # noqa: E402

PAGE = ROOT / "docs" / "results.md"
RESULT, PLOT = ROOT / "bench" / "results" / "cpu.json", ROOT / "docs" / "bench_cpu.svg"
BEGIN, END = "<!-- make bench: written by scripts/checks/cpu_table.py --fix -->", "<!-- end of make bench -->"


def figure(entry):
    """The ratio, or our measurement of a row without a baseline. A ratio below 1 is bold: the baseline is faster."""
    if "failed" in entry:
        return "**failed**"
    if entry["ratio"] is None:
        return "%.2f" % entry["ours"]
    return ("**%.2fx**" if entry["ratio"] < 1 else "%.2fx") % entry["ratio"]


def bar(entry):
    text = ("at most %g" if entry["rule"].endswith("<=") else "%g") % entry["bar"]
    return text if entry["met"] else text + ", not met"


def head(result):
    met = sum(entry["met"] for entry in result["rows"])
    changes = " with uncommitted changes" if result["commit"].endswith("-dirty") else ""
    return ("%d threads of an %s, %s, torch %s, %s at %s%s, load average %.1f at the start; both sides alternately, same dtype. "
            "%d of %d rows meet their target"
            % (result["threads"], result["cpu"], "AVX-512" if result.get("avx512") else "AVX2", result["torch"].split("+")[0], result["date"],
               result["commit"].removesuffix("-dirty"), changes, result["load_before"], met, len(result["rows"])))


def time(value, unit):
    """"13.4 ms" with three digits, "1,898 ms" from a thousand on; "-" without a value."""
    if value is None:
        return "-"
    number = f"{value:,.0f}" if value >= 1000 else "%.3g" % value
    return "%s %s" % (number, unit) if unit in ("ms", "us") else number


def share(entry):
    """Of the machine's multiply-adds, or of the speed of a copy."""
    if entry["peak_share"] is not None:
        return "%.0f%%" % (100 * entry["peak_share"])
    return "-" if entry.get("copy_share") is None else "%.0f%% of a copy" % (100 * entry["copy_share"])


def full(result):
    """The block: every row with both times."""
    text = [head(result) + ".", "", "![ratio and target of each row](bench_cpu.svg)", "",
            "| row | dtype | ours | baseline | ratio | target | share of the peak |", "|---|---|---:|---:|---:|---:|---:|"]
    for entry in result["rows"]:
        text.append("| `%s` | %s | %s | %s | %s | %s | %s |" % (
            entry["name"], entry["dtype"], time(entry["ours"], entry["unit"]), time(entry["peer"], entry["unit"]), figure(entry),
            bar(entry), share(entry)))
    return text


def main():
    result = json.loads(RESULT.read_text(encoding="utf-8"))
    if rows.missing(result["rows"]):
        print("check: bench/results/cpu.json lacks rows: %s: run make bench" % ", ".join(rows.missing(result["rows"])))
        return 1
    stale = {}
    texts = page_block.replaced(PAGE, PAGE.name, BEGIN, END, "\n".join([BEGIN] + full(result) + [END]))
    if not texts:
        return 1
    if texts[0] != texts[1]:
        stale[PAGE] = texts[1]
    if not PLOT.exists() or PLOT.read_text(encoding="utf-8") != rows.plot(result["rows"]):
        stale[PLOT] = rows.plot(result["rows"])
    return page_block.settle(stale, "%s: differs from bench/results/cpu.json" % ", ".join(path.name for path in stale))


if __name__ == "__main__":
    sys.exit(main())
