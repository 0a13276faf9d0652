# bench/selected_keys.py - work of each program of the inverse index and of dk and dv of selected attention, counted on the simulator.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Work of the programs of the inverse index and of select_bwd_dkdv on sm_80: their sum, and the longest over the mean.

One key head and its query heads, bf16, each kernel in its configuration for a GPU. What a program executes is a + b * x: x are the steps
over tokens of dk and dv, the chunks of a sum, the tiles of tokens or of counts. a and b come from two programs that ran at `length`, the
least and the most of them, a third in between is compared (`misfit`); x of all programs is counted from indices of `length` and of `far`
tokens. Sum, mean and longest are over programs that do not return at once."""
import padding
from layer import CHUNK, MACHINE, SHAPES, layer_of, torch

FIGURES = dict(warp="warp_instructions", sectors="global_sectors", tensor="tensor_instructions")
KERNELS = ["inverse_count", "inverse_prefix", "inverse_fill", "select_bwd_dkdv", "select_bwd_sum"]
OPTIONS = {"length": 4096, "far": 65536, "shape": "A"}
QUICK = {"length": 2048, "far": 4096, "shape": "B"}


def rows(options):
    return {f"{what}, {part}": (what, part) for what in ("random", "local", "sink") for part in ("index", "gradients")}


def work(name, launch, one):
    """x of each program; None: it returns at once."""
    if name == "select_bwd_dkdv":
        return [padding.key_steps(name, one, launch.constexprs, i) or None for i in range(launch.grid[1])]
    if name == "select_bwd_sum":
        counts = one.inverse["PTR"][0].diff().tolist()
        return [-(-c // CHUNK) if c > CHUNK else None for c in counts for _ in range(launch.grid[1] // len(counts))]
    if name == "inverse_prefix":      # sums of all tiles, for each block before and twice for its block
        return [-(-launch.args["tiles"] // launch.constexprs["BR"]) * (i + 2) for i in range(launch.grid[0])]
    return [1] * (launch.grid[0] - 1)      # the last tile is empty


def record(what, name, near, far, run):
    """near, far: x of each program at both lengths; run(number): counters of one program. The index is proportional to x."""
    at = sorted((i for i, x in enumerate(near) if x is not None), key=lambda i: near[i])
    low, high = at[0], at[-1]
    middle = min(at, key=lambda i: abs(near[i] - (near[low] + near[high]) / 2))
    ran, found = {i: run(i) for i in {low, middle, high}}, dict(indices=what, kernel=name)
    for figure, key in FIGURES.items():
        y = {i: ran[i][key] for i in ran}
        b = y[high] / near[high] if name.startswith("inverse") else (y[high] - y[low]) / max(1, near[high] - near[low])
        a = y[low] - b * near[low]
        if figure == "warp":
            found["misfit"] = round(abs(a + b * near[middle] - y[middle]) / y[middle], 4)
        for length, all_x in (("", near), ("_far", far)):
            costs = [a + b * x for x in all_x if x is not None]
            found[figure + length] = round(sum(costs))
            if figure == "warp":
                found.update({"programs" + length: len(costs), "longest" + length: round(max(costs)),
                              "longest_of_mean" + length: round(max(costs) * len(costs) / sum(costs), 3)})
    return found


def index(one):
    """Counters of all programs of the three kernels of the inverse index, which must make the index that a stable sort makes."""
    count, prefix, fill = (one.launch(name) for name in KERNELS[:3])
    prefix.args.update(TILES=count.args["TILES"], PTR=torch.zeros_like(prefix.args["PTR"]))
    fill.args.update(STARTS=prefix.args["STARTS"], INV=torch.zeros_like(fill.args["INV"]))
    ran = {launch.name: [launch.count([i]) for i in range(launch.grid[0])] for launch in (count, prefix, fill)}
    assert torch.equal(prefix.args["PTR"], one.inverse["PTR"]), "inverse_prefix writes other pointers than a sort"
    assert torch.equal(fill.args["INV"], one.inverse["INV"]), "inverse_fill writes another index than a sort"
    return ran


def measure(row, context):
    what, part = row
    heads, key_heads, dim, vdim = SHAPES[context.options.shape]
    near, far = (layer_of(heads // key_heads, 1, dim, vdim, n, what) for n in (context.options.length, context.options.far))
    ran = index(near) if part == "index" else {}
    for name in KERNELS[:3] if part == "index" else KERNELS[3:]:
        here, there = near.launch(name), far.launch(name)
        yield record(what, name, work(name, here, near), work(name, there, far), lambda i: ran[name][i] if ran else here.count([i]))


def summary(records, context):
    return dict(machine=MACHINE)
