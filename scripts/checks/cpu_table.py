#!/usr/bin/env python3
"""Checks README's lines on `make bench` and the table of docs/bench.md against bench/results/cpu.json; --fix writes both.

SPDX-License-Identifier: Apache-2.0
"""
import itertools
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "bench"), str(ROOT / "scripts" / "lib")]
sys.dont_write_bytecode = True
import page_block  # noqa: E402
from cpu import table as rows  # noqa: E402

RESULT, PLOT = ROOT / "bench" / "results" / "cpu.json", ROOT / "docs" / "bench_cpu.svg"
BEGIN, END = "<!-- make bench: written by scripts/checks/cpu_table.py --fix -->", "<!-- end of make bench -->"


def figure(entry):
    """The ratio, or our measurement if there is no baseline. A ratio below 1 is bold: the baseline is faster."""
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


def short(result):
    """README: a line for each baseline of several rows, one for all others."""
    text = ["`make bench`: %s ([all measurements](bench/results/cpu.json), [rows](docs/bench.md#the-table-of-a-cpu)). The baseline's time / ours (target); "
            "bold: tessera is slower:" % head(result), ""]
    shown = lambda entries: ", ".join("`%s` %s (%s)" % (entry["name"], figure(entry), bar(entry)) for entry in entries)
    groups = [(peer, list(group)) for peer, group in itertools.groupby(result["rows"], key=lambda entry: entry["peer_name"])]
    text += ["- %s: %s" % (peer, shown(group)) for peer, group in groups if peer and len(group) > 1]
    single = ["compared with %s: %s" % (peer, shown(group)) for peer, group in groups if peer and len(group) == 1]
    return text + ["- %s; without a baseline: %s" % ("; ".join(single), shown(entry for peer, group in groups if not peer for entry in group))]


def share(entry):
    """Of the machine's multiply-adds, or of the speed of a copy."""
    if entry["peak_share"] is not None:
        return "%.0f%%" % (100 * entry["peak_share"])
    return "-" if entry.get("copy_share") is None else "%.0f%% of a copy" % (100 * entry["copy_share"])


def full(result):
    """docs/bench.md: every row with both times."""
    text = [head(result) + ".", "", "![ratios and bars](bench_cpu.svg)", "",
            "| row | dtype | ours | baseline | ratio | target | share of the peak |", "|---|---|---:|---:|---:|---:|---:|"]
    for entry in result["rows"]:
        time = lambda value: "-" if value is None else "%.3g %s" % (value, entry["unit"] if entry["unit"] in ("ms", "us") else "")
        text.append("| `%s` | %s | %s | %s | %s | %s | %s |" % (
            entry["name"], entry["dtype"], time(entry["ours"]).strip(), time(entry["peer"]), figure(entry), bar(entry),
            share(entry)))
    return text


def main():
    result = json.loads(RESULT.read_text(encoding="utf-8"))
    if rows.missing(result["rows"]):
        print("check: bench/results/cpu.json lacks rows: %s: run make bench" % ", ".join(rows.missing(result["rows"])))
        return 1
    stale = {}
    for path, lines in ((ROOT / "README.md", short(result)), (ROOT / "docs" / "bench.md", full(result))):
        texts = page_block.replaced(path, path.name, BEGIN, END, "\n".join([BEGIN] + lines + [END]))
        if not texts:
            return 1
        if texts[0] != texts[1]:
            stale[path] = texts[1]
    if not PLOT.exists() or PLOT.read_text(encoding="utf-8") != rows.plot(result["rows"]):
        stale[PLOT] = rows.plot(result["rows"])
    return page_block.settle(stale, "%s: not what bench/results/cpu.json says" % ", ".join(path.name for path in stale))


if __name__ == "__main__":
    sys.exit(main())
