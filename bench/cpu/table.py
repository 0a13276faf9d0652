# bench/cpu/table.py - the rows of `make bench`: our time and a baseline's, alternately in one process, with a target for each.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""tessera compared with its baselines on a CPU, alternately in one run.

A row compares a time of ours with a baseline's: ratio = baseline / ours, above 1 means that ours is faster. Rows without a baseline hold
our measurement to a target. A row misses its target, too, if results differ by more than ERROR or a rate is above the machine's peak. All
rows take about 20 minutes on two cores with nothing else running."""
import dataclasses
import importlib

from harness import processor
from harness.plot import ratios

# The largest difference of two results over the largest of the baseline's: products of 1024 terms rounded to the type.
ERROR = {"fp32": 1e-4, "bf16": 2e-2}


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    group: str       # module of this folder that measures it
    unit: str
    bar: float
    peer: str = ""   # the baseline; "": the target is for our measurement
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
    Row("step_largest_other", "programs", "share of a step's time of one operation other than a kernel or a product", 0.03, rule="ours <="),
]
NAMES = [row.name for row in ROWS]


def entry(row, figures, threads, avx512):
    """The record of a row. figures: ours, of a comparison also `peer` (the baseline) and max_error, optionally peak_share, bound and spread; or
    `failed`, the reason why there are none."""
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
    return {**result, "met": met}


def missing(entries):
    """Names of rows that a table does not have."""
    return [name for name in NAMES if name not in {entry["name"] for entry in entries}]


def line(entry):
    """A record as text."""
    if "failed" in entry:
        return "%-32s %s" % (entry["name"], entry["failed"])
    figures = "%10.3f %s" % (entry["ours"], entry["unit"])
    if entry["peer"] is not None:
        figures += ", baseline %.3f, ratio %.2f" % (entry["peer"], entry["ratio"])
    share = "" if entry["peak_share"] is None else ", %.0f%% of the peak" % (100 * entry["peak_share"])
    sign = "met" if entry["met"] else "MISSED"
    return "%-32s %s%s (%s %g: %s)" % (entry["name"], figures, share, entry["rule"], entry["bar"], sign)


def rows(options):
    return {row.name: row for row in ROWS}


def measure(row, context):
    figures = importlib.import_module("cpu." + row.group).measure(row.name, context)
    return entry(row, figures, context.threads, "avx512f" in processor()[1])


def failed(row, why):
    return entry(row, {"failed": why}, None, True)


def summary(records, context):
    return {"flop_per_second": context.flop_per_second, "bytes_per_second": context.bytes_per_second}


def plot(records):
    return ratios(records, "time of the baseline / ours (right of the line: ours is faster); ticks are targets")
