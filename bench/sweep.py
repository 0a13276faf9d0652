# bench/sweep.py - compressed attention, scores and top-n in one kernel compared with the two separate kernels, on the simulator.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Counters of cmp_select_fwd compared with cmp_fwd and score_select, on sm_80.

One sequence and one key head, bf16, each kernel in its configuration for a GPU, but cmp_fwd with the rows of cmp_select_fwd. The programs of
`windows` places of the sequence run, of each place the tokens that full tiles of all kernels hold; cmp_select_fwd has a program for each tile
here, where the op has fewer that take several. `others` are the instructions of a warp that are not tensor instructions, for each that is;
`of_cmp` compares the tensor instructions with those of cmp_fwd."""
import math

from layer import FIGURES, MACHINE, SHAPES, layer_of, torch, zeros

OPTIONS = {"lengths": [4096, 8192, 16384], "shapes": ["A", "P", "B"], "windows": 5}
QUICK = {"lengths": [512], "shapes": ["B"], "windows": 1}
KERNELS = ["cmp_fwd", "score_select", "cmp_select_fwd"]
ROWS = {"cmp_fwd": (dict(BM=64, BN=64), 4, 2)}      # the rows of cmp_select_fwd, so that few tokens fill the tiles of all kernels


def rows(options):
    return {f"{shape}, {length}": (shape, length) for shape in options.shapes for length in options.lengths}


def measure(row, context):
    (shape, tokens), windows = row, context.options.windows
    heads, key_heads, dim, vdim = SHAPES[shape]
    one, cmp = layer_of(heads // key_heads, 1, dim, vdim, tokens, "sink"), None
    launches = {name: one.launch(name, ROWS.get(name)) for name in KERNELS}
    size = {name: launch.constexprs["BM"] // launch.constexprs.get("GB", one.group) for name, launch in launches.items()}
    step = math.lcm(*size.values())
    places = [tokens * (2 * i + 1) // (2 * windows) // step * step for i in range(windows)]
    for name, launch in launches.items():
        programs = one.tiles(size[name])
        if name == "cmp_select_fwd":
            launch.args["SUMS"] = zeros(programs, launch.args["SUMS"][0, 0].numel(), dtype=torch.float32)
        launch.grid = (programs, 1)
        tiles = [programs - 1 - (place // size[name] + i) for place in places for i in range(step // size[name])]
        counters = launch.count(tiles)
        record = dict(shape=shape, length=tokens, kernel=name, **{figure: counters[key] for figure, key in FIGURES.items()})
        cmp = cmp or record["tensor"]
        yield dict(record, others=round(record["warp"] / record["tensor"] - 1, 3), of_cmp=round(record["tensor"] / cmp, 4))


def summary(records, context):
    return dict(machine=MACHINE)
