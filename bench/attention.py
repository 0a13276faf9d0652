# bench/attention.py - attention on this CPU over the sequence length: NSA and dense attention of tessera, SDPA and NSA of torch.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Milliseconds of attention, one sequence, fp32: tessera's NSA and dense ops, torch's SDPA and the same NSA in plain torch ops.

All variants run alternately in one process. With direction=backward a call is a forward and a backward pass. The plot of docs/results.md is of this
benchmark; `tessera bench fwd` measures other geometries and devices."""
import statistics

from cpu import attention as cases
from cpu.trained import GEOMETRY
from harness import alternate
from harness.plot import lines
from peers import nsa_torch_baseline as baseline

OPTIONS, QUICK, ROUNDS = {"lengths": [512, 1024, 2048, 4096, 8192], "direction": "forward"}, {"lengths": [512]}, 5
NAMES = ["tessera NSA", "tessera dense", "torch SDPA", "torch NSA"]


def rows(options):
    return {"%s, %d tokens" % (options.direction, length): (length, options.direction == "backward") for length in options.lengths}


def variants(torch, length, backward):
    """{name: (function, its inputs)}; inputs are made once."""
    torch.manual_seed(0)
    cu = torch.tensor([0, length], dtype=torch.int32)
    q, packed, logits = cases.noise(length)
    dense, sdpa = cases.sdpa(q, packed[2], packed[3])
    found = {"tessera NSA": (lambda: cases.trained.attend(q, packed, logits, cu)[0], [q, *packed, logits]),
             "tessera dense": (lambda: torch.ops.tessera.dense_attention(q, packed[2], packed[3], cu, length)[0], [q, *packed[2:4]]),
             "torch SDPA": (sdpa, dense)}
    if length <= (2048 if backward else 4096):     # the masks of more tokens do not fit into memory
        inputs = baseline.inputs(length)
        chunk = 0 if length < 4096 else 1024
        found["torch NSA"] = (lambda: baseline.nsa(*inputs, chunk=chunk, variant="mask"), inputs)
    return found


def measure(row, context):
    (length, backward), torch = row, context.torch
    functions = {name: cases.with_gradients(*pair) if backward else pair[0] for name, pair in variants(torch, length, backward).items()}
    with torch.set_grad_enabled(backward):
        times = alternate(functions, context.rounds, least_ms=0)
    record = {"length": length, "ms": {name: statistics.median(all_) for name, all_ in times.items()},
              "spread_ms": {name: [min(all_), max(all_)] for name, all_ in times.items()}}
    flop = cases.flops(length, 7 if backward else 2)
    record["peak_share"] = max(flop / record["ms"][name] * 1e3 / context.flop_per_second for name in ("tessera dense", "torch SDPA"))
    return record


def summary(records, context):
    block, stride, selection, kept, window = GEOMETRY
    return {"q_heads": cases.HEADS, "kv_heads": cases.GROUPS, "head_dim": cases.SIZE,
            "nsa": {"l": block, "d": stride, "l_sel": selection, "n_sel": kept, "w": window}}


def plot(records):
    return lines([(record["length"], record["ms"]) for record in records], NAMES, "ms", "sequence length (tokens)")
