# bench/cpu/rows.py - the rows that `make bench` has to show for a CPU, their bars, and what a finished table says of them.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""A row compares a time of ours with a peer's, measured in turns in one process: ratio = peer / ours, above 1 means ours is faster.
Rows without a peer hold a figure of ours itself to a bar. No row may be missing from a complete table."""
import dataclasses
import math

# Largest difference of two results over the largest of the peer's: products of 1024 terms rounded to the type.
ERROR = {"fp32": 1e-4, "bf16": 2e-2}


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    group: str       # module of this folder that measures it
    unit: str
    bar: float
    peer: str = ""   # "": no peer, the bar is for our figure
    dtype: str = "fp32"
    rule: str = "ratio >="   # or "ours <=", "ours >="
    bar_avx2: float = 0.0    # where it differs without AVX-512


def _compare(group, dtype, peer, *rows, unit="ms"):
    return [Row(name, group, unit, bar, peer, dtype) for name, bar in rows]


SDPA, NSA = "torch SDPA", "NSA in torch ops, its best variant"
BETTER = "torch, eager or compiled, the better"
ROWS = [
    *_compare("products", "fp32", "torch.mm", ("matmul_f32_1024", 0.9)),
    Row("matmul_bf16_1024", "products", "ms", 0.7, "torch.mm", "bf16", bar_avx2=1.0),
    *_compare("attention", "fp32", SDPA, ("flash_fwd_f32_s4096", 1.1), ("flash_bwd_f32_s4096", 1.3),
              ("nsa_fwd_s4096_vs_sdpa", 1.0), ("nsa_fwd_s8192_vs_sdpa", 1.7), ("nsa_fwd_s16384_vs_sdpa", 2.8),
              ("nsa_fwd_s4096_vs_sdpa_trained", 1.0), ("nsa_fwd_s8192_vs_sdpa_trained", 1.7),
              ("nsa_fwd_s16384_vs_sdpa_trained", 2.8), ("nsa_fwdbwd_s8192_vs_sdpa", 1.6)),
    *_compare("attention", "fp32", NSA, ("nsa_fwd_s2048_vs_torch_nsa", 3.0), ("nsa_fwd_s4096_vs_torch_nsa", 4.5),
              ("nsa_fwd_s8192_vs_torch_nsa", 4.5)),
    *_compare("elementwise", "fp32", BETTER, *((name, 1.0) for name in ("rmsnorm", "softmax", "cross_entropy", "rope", "gate"))),
    *_compare("training", "fp32", "the same model in eager PyTorch, NSA as masked SDPA", ("train_step_nsa_s512_quickstart", 2.0)),
    *_compare("training", "fp32", "eager PyTorch with SDPA", ("train_step_dense_s1024_11m", 1.05)),
    *_compare("training", "bf16", "eager PyTorch with SDPA, autocast", ("train_step_dense_s1024_11m_bf16", 1.2)),
    *_compare("programs", "fp32", "Triton 3.6, both for sm_80 with ptxas, excluding process start-up on both sides", ("cold_compile_median_ms", 2.0)),
    Row("launch_host_us", "programs", "us", 0.3, rule="ours <="),
    Row("quickstart_beside_two", "programs", "share of the speed alone", 0.4, rule="ours >="),
    Row("nsa_fwd_s4096_beside_two", "programs", "share of the speed alone", 0.4, rule="ours >="),
    Row("nsa_memory_growth", "programs", "exponent over S of the memory above the inputs", 1.1, rule="ours <="),
    Row("step_largest_other", "programs", "share of a step's time of one thing that is no kernel nor product", 0.03, rule="ours <="),
]
NAMES = [row.name for row in ROWS]


def nsa_pairs(length, block, stride, selection, kept, window):
    """Pairs of a query and a compressed token, a key of a selected block, or one of the window, of one head and sequence."""
    pairs = 0
    for seen in range(1, length + 1):
        compressed = (seen - block) // stride + 1 if seen >= block else 0
        selected = seen if seen <= kept * selection else (kept - 1) * selection + (seen - 1) % selection + 1
        pairs += compressed + selected + min(window, seen)
    return pairs


def entry(row, figures, threads, avx512):
    """The row of cpu.json. figures: ours, of a comparison also peer and max_error, by choice peak_share, bound and spread;
    or `failed`, why there are none."""
    bar = row.bar if avx512 or not row.bar_avx2 else row.bar_avx2
    result = {"name": row.name, "unit": row.unit, "ours": None, "peer": None, "peer_name": row.peer or None, "ratio": None, "bar": bar,
              "rule": row.rule, "threads": threads, "dtype": row.dtype, "max_error": None, "peak_share": None, **figures}
    if "failed" in figures:
        return {**result, "met": False}
    if row.peer:
        result["ratio"] = result["peer"] / result["ours"]
    value = result["ratio"] if row.rule.startswith("ratio") else result["ours"]
    met = value <= bar if row.rule.endswith("<=") else value >= bar
    if result["max_error"] is not None and not result["max_error"] <= ERROR[row.dtype]:
        result["failed"], met = "results differ by %.2g, at most %g" % (result["max_error"], ERROR[row.dtype]), False
    if result["peak_share"] is not None and result["peak_share"] > 1:
        result["failed"], met = "%.2f of the machine's peak: the measurement is wrong" % result["peak_share"], False
    return {**result, "met": met}


def missing(entries):
    """Names of rows that a table lacks."""
    return [name for name in NAMES if name not in {entry["name"] for entry in entries}]


def line(entry):
    """One row for people."""
    if "failed" in entry:
        return "%-32s %s" % (entry["name"], entry["failed"])
    figures = "%10.3f %s" % (entry["ours"], entry["unit"])
    if entry["peer"] is not None:
        figures += ", peer %.3f, ratio %.2f" % (entry["peer"], entry["ratio"])
    share = "" if entry["peak_share"] is None else ", %.0f%% of the peak" % (100 * entry["peak_share"])
    sign = "met" if entry["met"] else "MISSED"
    return "%-32s %s%s (%s %g: %s)" % (entry["name"], figures, share, entry["rule"], entry["bar"], sign)


def plot(entries):
    """An SVG of the ratios on a logarithmic axis, with a tick at each bar."""
    shown = [e for e in entries if e.get("ratio")]
    low = min([0.5] + [e["ratio"] for e in shown]) * 0.9
    high = max([2.0] + [max(e["ratio"], e["bar"]) for e in shown]) * 1.1
    left, width, step = 290, 700, 20
    at = lambda ratio: left + (width - left - 60) * math.log(ratio / low) / math.log(high / low)
    parts = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">'
             % (width, step * len(shown) + 50), '<rect width="100%" height="100%" fill="white"/>',
             '<text x="%d" y="16">time of the peer / ours (right of the line: ours is faster); ticks are bars</text>' % left]
    for i, e in enumerate(shown):
        y = 30 + step * i
        begin, end = sorted((at(1), at(e["ratio"])))
        parts.append('<text x="%d" y="%d" text-anchor="end">%s</text><rect x="%.1f" y="%d" width="%.1f" height="13" fill="%s"/>'
                     '<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="black"/><text x="%.1f" y="%d">%.2f</text>'
                     % (left - 8, y + 11, e["name"], begin, y, max(1.0, end - begin), "#2e7d32" if e["met"] else "#c0392b",
                        at(e["bar"]), at(e["bar"]), y - 2, y + 15, max(end, at(e["bar"])) + 5, y + 11, e["ratio"]))
    parts.append('<line x1="%.1f" x2="%.1f" y1="24" y2="%d" stroke="#888"/></svg>' % (at(1), at(1), 30 + step * len(shown)))
    return "\n".join(parts) + "\n"
