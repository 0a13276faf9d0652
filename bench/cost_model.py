# bench/cost_model.py - counters of our kernels that stand for kernels with published times, for the validation of the cost model.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Profiles of launches on sm_80 that docs/cost-model.md compares with published times.

64 query and 4 KV heads of 128, one sequence, bf16, in the tiles of the published kernels. As in those, one tile is of tokens of one query
head, as if every query head had a KV head; `bytes` are those of the published kernel's tensors. cost_report of the result and
bench/cost/published.json makes bench/results/cost_model.json. Needs the target cost_predict."""
import predicted
from layer import SPAN, Layer, selection

HEADS, KV_HEADS, SIZE = 64, 4, 128
GROUPED = ("select", "compress")          # kernels whose tiles have all query heads of a KV head, or none
KEYS = {"K", "V", "DK", "DV"}


def launch(kernel, order="tokens up", warps=8, stages=2, **tiles):
    return kernel, order, (tiles, warps, stages)


def backward(kind, warps, queries, keys):
    """delta, dk and dv, dq: the three launches of a backward pass, dk and dv with these tiles."""
    more = dict(SPAN=SPAN) if kind == "cmp" else {}
    stages = 2 if kind == "cmp" else 3
    return [launch("attn_delta", stages=3, BT=256), launch(f"{kind}_bwd_dkdv", "heads first", warps, stages, BM=queries, BN=keys, **more),
            launch(f"{kind}_bwd_dq", "tokens down", stages=stages, BM=128, BN=64)]


# set -> (sizes in tokens that run, launches)
SETS = {
    "dense 128x64, 8 warps": ((2048, 4096, 8192), [launch("dense_fwd", "tokens down", stages=3, BM=128, BN=64)]),
    "dense backward 64x64 and 128x64, 8 warps": ((2048, 4096, 8192), backward("dense", 8, 64, 64)),
    "dense backward 64x64, 4 warps, and 128x64, 8 warps": ((2048, 4096, 8192), backward("dense", 4, 64, 64)),
    "compressed 128x128, 8 warps": ((8192, 16384, 32768), [launch("cmp_fwd", "tokens down", BM=128, BN=128)]),
    "compressed 128x64, 4 warps": ((8192, 16384, 32768), [launch("cmp_fwd", "tokens down", warps=4, BM=128, BN=64)]),
    "compressed backward 64x128 and 128x64, 8 warps": ((16384, 32768, 65536), backward("cmp", 8, 64, 128)),
    "selected, 8 warps": ((4096, 8192, 16384), [launch("select_fwd", stages=3, BN=64)]),
    "selected, 4 warps": ((4096, 8192, 16384), [launch("select_fwd", warps=4, stages=3, BN=64)]),
    "selected, 1 warp": ((4096, 8192, 16384), [launch("select_fwd", warps=1, BN=64)]),
    "gates": ((2048, 4096, 8192), [launch("gate_fwd", stages=3, BT=16, SOFTMAX=0)]),
    "compression": ((2048, 4096, 8192), [launch("compress_fwd", warps=1, stages=1, BC=1)]),
}
OPTIONS = {"lengths": [2048 * 2 ** i for i in range(7)]}  # of the published times: grids and bytes


def rows(options):
    return {name: name for name in SETS}


def made(kernel, configuration, tokens, what):
    """The launch in this configuration."""
    one = Layer(HEADS, KV_HEADS if kernel.startswith(GROUPED) else HEADS, SIZE, SIZE, tokens, idx=selection(tokens, what) if kernel == "select_fwd" else None)
    one.parts = 1
    return one.launch(kernel, configuration)


def tile(kernel, tiles):
    """Of a launch, as bench/cost/published.json writes it: rows and keys, tokens, or blocks."""
    if kernel == "select_fwd":
        return [HEADS // KV_HEADS, tiles["BN"]]
    return [tiles[name] for name in ("BM", "BN", "BT", "BC") if name in tiles]


def published_bytes(kernel, launch):
    """Bytes of the tensors that a published kernel has: K and V of a KV head, no filters, no partial sums."""
    total = 0
    for name, value in launch.tensors().items():
        if name not in ("W", "PART"):
            total += value.numel() * value.element_size() // (HEADS // KV_HEADS if name in KEYS and not kernel.startswith(GROUPED) else 1)
    return total


def profile(kernel, configuration, tokens, context):
    launch = made(kernel, configuration, tokens, "random")
    described = lambda folder: [dict(predicted.described(launch, folder), bytes=published_bytes(kernel, launch))]
    return predicted.predict(context, described, "a100")[kernel]["profile"]


def measure(name, context):
    sizes, launches = SETS[name]
    sizes = sizes[:1] if context.quick else sizes
    counted = [{"kernel": kernel, "order": order, "tile": tile(kernel, configuration[0]), "warps": configuration[1], "stages": configuration[2],
                "sizes": [{"tokens": tokens, "profile": profile(kernel, configuration, tokens, context)} for tokens in sizes]}
               for kernel, order, configuration in launches]
    lengths = []
    for tokens in context.options.lengths:
        at = [(kernel, made(kernel, configuration, tokens, "sink")) for kernel, _, configuration in launches]
        lengths.append({"tokens": tokens, "grids": [[*launch.grid, 1] for _, launch in at],
                        "bytes": [published_bytes(kernel, launch) for kernel, launch in at]})
    return {"set": name, "launches": counted, "lengths": lengths}
