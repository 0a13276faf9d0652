# bench/sectors.py - global sectors of the kernels that only move data, compared with the least possible.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Sectors of 32 bytes that warps request from L2 over the least possible, for compression, merging of ranges and gates on sm_80.

All programs run with every check, bf16, each kernel in its configuration for a GPU, one sequence. A row that is read twice counts twice.
Least: each argument that the kernel reads or writes once, ceil(bytes / 32), prefix sums left out; of compression's x the tokens that are in
a block. `filters`: compression by a convolution, whose filters count as read once by the launch; without, the mean."""
import layer

TARGET = 1.1
# (kernel, filters, what is read or written)
KERNELS = [
    ("compress_pair_fwd", False, "K V KOUT VOUT"), ("compress_pair_fwd", True, "K V WK WV KOUT VOUT"),
    ("merge_ranges", False, "IDX RANGES"), ("gate_fwd", False, "OC OS OW LOGITS GATES O"),
    ("gate_bwd_rows", False, "DO OC OS OW LC LS LW GATES DLOGITS LSE DELTA"),
    ("compress_pair_bwd_dx", False, "KOUT VOUT DK DV"), ("compress_pair_bwd_dx", True, "KOUT VOUT WK WV DK DV"),
    ("compress_bwd_dw", True, "X DOUT PART"),
]
OPTIONS, QUICK = {"tokens": 4096, "shapes": ["A", "P", "B"]}, {"tokens": 256, "shapes": ["B"]}


def rows(options):
    return {f"{shape}, {name}{', filters' if filters else ''}": (shape, name, filters, tensors)
            for shape in options.shapes for name, filters, tensors in KERNELS}


def measure(row, context):
    shape, name, filters, tensors = row
    launch = layer.layer_of(*layer.SHAPES[shape], context.options.tokens, "local", filters).launch(name)
    counters = launch.count()
    least = sum(-(-launch.tensors()[x].numel() * launch.tensors()[x].element_size() // 32) for x in tensors.split())
    return dict(shape=shape, kernel=name, filters=filters, sectors=counters["global_sectors"], least=least,
                ratio=round(counters["global_sectors"] / least, 4), warp=counters["warp_instructions"],
                met=counters["global_sectors"] <= TARGET * least)


def summary(records, context):
    met = sum(record["met"] for record in records)
    return dict(machine=layer.MACHINE, tokens=context.options.tokens, bar=f"sectors / least <= {TARGET}", met=met, missed=len(records) - met)
