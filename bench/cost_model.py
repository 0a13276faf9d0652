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
GROUPED = ("select", "gate", "compress")  # kernels whose tiles have all query heads of a KV head
KEYS = {"K", "V", "DK", "DV"}


def launch(kernel, order="tokens up", warps=8, stages=2, **tiles):
    return kernel, order, (tiles, warps, stages)


DENSE = dict(order="tokens down", BM=128, BN=128)
# set -> (sizes in tokens that run, launches)
SETS = {
    "dense 128x128, 8 warps": ((2048, 4096, 8192), [launch("dense_fwd", **DENSE)]),
    "compressed 128x128, 8 warps": ((8192, 16384, 32768), [launch("cmp_fwd", **DENSE)]),
    "compressed 128x64, 8 warps": ((8192, 16384, 32768), [launch("cmp_fwd", "tokens down", stages=3, BM=128, BN=64)]),
    "compressed backward 64x128 and 128x64, 8 warps": ((16384, 32768, 65536), [
        launch("attn_delta", stages=3, BT=256), launch("cmp_bwd_dkdv", "heads first", BM=64, BN=128, SPAN=SPAN),
        launch("cmp_bwd_dq", "tokens down", BM=128, BN=64)]),
    "selected, 8 warps": ((4096, 8192, 16384), [launch("select_fwd", stages=3, BN=64)]),
    "selected, 1 warp": ((4096, 8192, 16384), [launch("select_fwd", warps=1, BN=64)]),
    "gates": ((2048, 4096, 8192), [launch("gate_fwd", warps=4, BT=32, SOFTMAX=0)]),
    "compression": ((2048, 4096, 8192), [launch("compress_fwd", warps=4, BC=16)]),
}
OPTIONS = {"lengths": [2048 * 2 ** i for i in range(7)]}  # of the published times: grids and bytes


def rows(options):
    return {name: name for name in SETS}


def made(kernel, configuration, tokens, what):
    """The launch in this configuration."""
    one = Layer(HEADS, KV_HEADS if kernel.startswith(GROUPED) else HEADS, SIZE, SIZE, tokens, idx=selection(tokens, what) if kernel == "select_fwd" else None)
    one.parts = 1
    return one.launch(kernel, configuration)


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
    counted = [{"kernel": kernel, "order": order, "sizes": [
        {"tokens": tokens, "profile": profile(kernel, configuration, tokens, context)} for tokens in sizes]}
        for kernel, order, configuration in launches]
    lengths = []
    for tokens in context.options.lengths:
        at = [(kernel, made(kernel, configuration, tokens, "sink")) for kernel, _, configuration in launches]
        lengths.append({"tokens": tokens, "grids": [[*launch.grid, 1] for _, launch in at],
                        "bytes": [published_bytes(kernel, launch) for kernel, launch in at]})
    return {"set": name, "launches": counted, "lengths": lengths}
