# bench/patterns.py - the patterns of kernels/patterns on this CPU, beside dense attention of the same shape.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Milliseconds of a pattern and of `dense_attention`, one sequence, fp32, 4 query heads of one key/value head, 64 channels.

Both run alternately in one process. `per_pair` is the pattern's time for each visible pair of a query and a key, divided by dense attention's;
`speedup` is dense attention's time divided by the pattern's. The limits are 1.3 for `per_pair`, and for sink_window a speed-up of 4 forward and
of 3 forward and backward (at 8,192 tokens). Rows with tiles(...) have other tiles than the file and no limit."""
import pathlib
import re
import statistics
import tempfile

from harness import alternate

OPTIONS, QUICK, ROUNDS = {"length": 8192}, {"length": 1024}, 5
HEADS, SIZE, PAIRS, SPEEDUP = 4, 64, 1.3, {"forward": 4.0, "forward and backward": 3.0}
NAMES = ["window", "sink_window", "block_causal", "alibi", "softcap", "fixed", "strided"]
LEARNED = {"sink_window": "SINK", "alibi": "SLOPE"}
# Other tiles than those of the file, forward: docs/decisions/0014-visible-tiles-without-lists.md.
TILES = {"fixed": ["BM=64, BN=16"], "strided": ["BM=64, BN=16", "BM=16, BN=64, RUN=4", "BM=16, BN=32, RUN=2", "BM=16, BN=16, RUN=1"],
         "dense": ["BM=16, BN=64"]}


def rows(options):
    ours = {f"{name}, {what}": (name, what, "") for name in NAMES for what in SPEEDUP}
    return {**ours, **{f"{name}, tiles({tiles}), forward": (name, "forward", tiles) for name, all_ in TILES.items() for tiles in all_}}


def file_with(name, tiles, folder):
    """The path of the pattern, or with tiles of a copy that has them."""
    path = pathlib.Path("kernels/patterns") / f"{name}.py"
    if not tiles:
        return path
    text = re.sub("# tessera: tiles.*\n", "", path.read_text())
    copy = pathlib.Path(folder) / f"{name}.py"
    copy.write_text(text.replace("@triton.jit", f"# tessera: tiles({tiles})\n@triton.jit", 1))
    return copy


def visible_pairs(torch, name, length):
    """Pairs of a query and a key that the pattern shows, with the parameters of its file."""
    t, pos = torch.arange(length)[:, None], torch.arange(length)[None, :]
    causal = pos <= t
    masks = {"window": lambda: causal & (t - pos < 512), "sink_window": lambda: causal & ((t - pos < 512) | (pos < 4)),
             "block_causal": lambda: pos // 64 <= t // 64, "fixed": lambda: causal & ((pos // 128 == t // 128) | (pos % 128 >= 112)),
             "strided": lambda: causal & ((t - pos < 128) | ((t - pos) % 128 == 0))}
    return int(masks.get(name, lambda: causal)().sum()), int(causal.sum())


def measure(row, context):
    with tempfile.TemporaryDirectory() as folder:
        return compare(row, file_with(row[0], row[2], folder), context)


def compare(row, path, context):
    """The record of a pattern's file."""
    (name, what, tiles), torch, length = row, context.torch, context.options.length
    torch.manual_seed(0)
    q, k, v = (torch.randn(length, heads, SIZE, requires_grad=True) for heads in (HEADS, 1, 1))
    ends = torch.tensor([0, length], dtype=torch.int32)
    learned = torch.zeros(length, 1, HEADS) if name in LEARNED else None
    forward = {
        "pattern": lambda: torch.ops.tessera.custom_attention(q, k, v, ends, length, str(path), name, name + "_bwd", "", None,
                                                              learned, LEARNED.get(name, ""))[0],
        "dense": lambda: torch.ops.tessera.dense_attention(q, k, v, ends, length)[0]}
    backward = what != "forward"
    functions = {key: (lambda f=f: torch.autograd.grad(f().sum(), (q, k, v))) for key, f in forward.items()} if backward else forward
    with torch.set_grad_enabled(backward):
        times = alternate(functions, context.rounds, least_ms=0)
    ms = {key: statistics.median(values) for key, values in times.items()}
    shown, causal = visible_pairs(torch, name, length)
    record = {"pattern": name, "tiles": tiles, "direction": what, "length": length, "ms": ms,
              "spread_ms": {key: [min(all_), max(all_)] for key, all_ in times.items()},
              "visible_share": shown / causal, "per_pair": ms["pattern"] / ms["dense"] * causal / shown, "speedup": ms["dense"] / ms["pattern"],
              "limit_per_pair": PAIRS}
    if tiles:
        return record
    record["met"] = record["per_pair"] <= PAIRS
    if name == "sink_window":
        record["limit_speedup"] = SPEEDUP[what]
        record["met"] = record["met"] and record["speedup"] >= SPEEDUP[what]
    return record


def summary(records, context):
    return {"q_heads": HEADS, "kv_heads": 1, "head_dim": SIZE, "dtype": "fp32"}
