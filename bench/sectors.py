#!/usr/bin/env python3
# bench/sectors.py - global sectors of the kernels that only move data, beside the least possible.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""bench/sectors.py [--tokens 4096] [--shapes APB] [--only NAME,...] [--output FILE.json]

SIM_ABI and PROGRAM as in bench/selected.py. Compression, merging of ranges and gates, forward and backward: all programs run with every
check, code for sm_80, bf16, each kernel in its configuration for a GPU, one sequence. Shapes as in bench/selected.py.

sectors: those of 32 bytes that warps ask L2 for, so a row that is read twice counts twice. Least: each argument that the kernel reads or
writes once, ceil(bytes / 32), prefix sums left aside; of compression's x the tokens that lie in a block. `filters`: compression by a
convolution, whose filters count as read once by the launch; without, the mean. Selected blocks are local (bench/layer.py).
Without --only the exit status is 1 where a kernel is above the bar."""
import argparse
import sys

import layer
from layer import launcher
import selected

BAR = 1.1
# (kernel, filters, what is read or written)
KERNELS = [
    ("compress_pair_fwd", False, "K V KOUT VOUT"), ("compress_pair_fwd", True, "K V WK WV KOUT VOUT"),
    ("merge_ranges", False, "IDX RANGES"), ("gate_fwd", False, "OC OS OW LOGITS GATES O"),
    ("gate_bwd_rows", False, "DO OC OS OW LC LS LW GATES DLOGITS LSE DELTA"),
    ("compress_pair_bwd_dx", False, "KOUT VOUT DK DV"), ("compress_pair_bwd_dx", True, "KOUT VOUT WK WV DK DV"),
    ("compress_bwd_dw", True, "X DOUT PART"),
]


def measure(options):
    for shape in options.shapes:
        for name, filters, tensors in KERNELS:
            if options.only and name not in options.only.split(","):
                continue
            one = layer.Layer(*layer.SHAPES[shape], options.tokens, idx=layer.selection(options.tokens, "local"), filters=filters)
            launch = one.launch(name)
            counters = launch.count()
            least = sum(-(-launch.args[x].numel() * launch.args[x].element_size() // 32) for x in tensors.split())
            yield dict(shape=shape, kernel=name, filters=filters, sectors=counters["global_sectors"], least=least,
                       ratio=round(counters["global_sectors"] / least, 4), warp=counters["warp_instructions"],
                       met=counters["global_sectors"] <= BAR * least)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=4096)
    parser.add_argument("--shapes", default="APB")
    parser.add_argument("--only", help="kernels")
    parser.add_argument("--output")
    options = parser.parse_args()
    launcher.use(compiler="tessera")
    rows = []
    for row in measure(options):
        rows.append(row)
        print(*(f"{key} {value}" for key, value in row.items()), flush=True)
    missed = [row for row in rows if not row["met"]]
    print(f"{len(rows) - len(missed)} of {len(rows)} are within {BAR}")
    if options.output:
        selected.write(options.output, "bench/sectors.py", rows, tokens=options.tokens, bar=f"sectors / least <= {BAR}",
                       met=len(rows) - len(missed), missed=len(missed))
    return 1 if missed and not options.only else 0


if __name__ == "__main__":
    sys.exit(main())
