# bench/selected.py - what the kernels of the selected branch execute for a GPU, counted on the simulator by sampled blocks.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Counters of select_fwd and select_bwd_dq, one token a program, and of the kernels that walk lists of blocks, on sm_80.

Blocks are `local` or `random` (layer.selection), 64 keys each, 16 selected. The programs of 5 windows of 80 tokens, spread over the
sequence, run with every check on; all kernels serve the same tokens, so their sums compare. Useful tensor instructions are those that the
rows whose token selected a block fill, without padding."""
from layer import FIGURES, LSEL, MACHINE, MACS, SHAPES, layer_of

OPTIONS, QUICK = {"length": 4096, "shapes": ["A", "P"]}, {"length": 512, "shapes": ["B"]}
WINDOWS, WIDTH = 5, 80


def rows(options):
    return {f"{shape}, {what}, {'backward' if backward else 'forward'}": (shape, what, backward)
            for shape in options.shapes for what in ("local", "random") for backward in (False, True)}


def programs(name, tile, count, windows):
    """Numbers along the first axis of the grid of the programs of these windows, tiles of `tile` tokens each. The kernels that walk
    lists have the last tokens in their first programs."""
    tiles = [w // tile + i for w in windows for i in range(WIDTH // tile)]
    return [count - 1 - n for n in tiles] if name.startswith("select_list_") else tiles


def count(one, name, windows):
    """Counters of the programs of these windows, of all key heads."""
    launch = one.launch(name)
    tile = 1 if name in ("select_fwd", "select_bwd_dq") else one.list_rows() // one.group
    along = launch.grid[0]
    return launch.count([n + along * h for n in programs(name, tile, along, windows) for h in range(one.hkv)])


def measure(row, context):
    shape, what, backward = row
    tokens = context.options.length
    one = layer_of(*SHAPES[shape], tokens, what)
    windows = sorted({tokens * (2 * i + 1) // (2 * WINDOWS) // WIDTH * WIDTH for i in range(WINDOWS)})
    chosen = one.hkv * sum(int((one.idx[w:w + WIDTH] >= 0).sum()) for w in windows)
    useful = chosen * one.group * LSEL * ((2 if backward else 1) * one.dim + one.vdim) / MACS
    end, first = "bwd_dq" if backward else "fwd", None
    for kernel, name in (("token", "select_" + end), ("lists", "select_lists"), ("list", "select_list_" + end)):
        counters = count(one, name, windows)
        record = dict(shape=shape, indices=what, kernel=kernel, backward=backward, **{figure: counters[key] for figure, key in FIGURES.items()})
        first = first or record
        record.update(sectors_of_token=round(record["sectors"] / first["sectors"], 4), warp_of_token=round(record["warp"] / first["warp"], 4))
        if record["tensor"]:
            record["useful"] = round(useful / record["tensor"], 4)
        yield record


def summary(records, context):
    return dict(machine=MACHINE)
