# bench/predicted.py - predicted times of a layer's attention on an A100 and an H200, at 65,536 tokens and at the users' shape.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Predicted times of a layer's attention, NSA and dense, forward and backward, from counters of the simulator.

Shape A: 64 query and 4 key heads of 128/128, one sequence of 65,536 tokens; selected blocks `local` and `random` (layer.selection). Shape B:
12 and 2 heads of 64/64, two sequences of 2,048 or of 8,192 tokens, local. bf16, compression by the mean, launches and tiles as the ops
make them on a GPU that no table knows, code for the GPU's target, mma.sync.

The time of a launch (docs/cost-model.md): some of its blocks run on the simulator at the full length, seven from the first to the last
tile of one key head (of cmp_select_fwd three programs of two for each multiprocessor, each of which takes tiles from all over the
sequence); counts of a block between two of them are linear, so nothing is extrapolated beyond the length that ran. Blocks whose work goes
by the lists of selected tokens (select_bwd_dkdv, branch_bwd_sum) are put in the order of their work, and 17 of them run, from the least to the most.

    cycles of a block = max(r * units, longest warp + waits), r blocks on an SM
    time = max(makespan of all blocks, sectors / L2 bandwidth, bytes of the arguments / DRAM bandwidth) + launch

A pass takes the sum of its launches. The constants of the model are fitted to published kernels of other authors. `bound`: the larger of
the products that seen pairs need over the peak of bf16 and of the arguments' bytes over DRAM's, for NSA and for dense causal attention
(two products a pair forward, five backward)."""
import functools
import json
import pathlib
import re
import tempfile

import layer
import padding
from layer import DENSE, FORWARD, ROOT, simulator, torch

STEERING = {"ADDED", "CU", "CU_CMP", "IDX", "LISTS", "COUNTS", "PTR", "INV"}
TARGETS = dict(forward=dict(h200=39.5, a100=54.9), backward=dict(h200=73.7, a100=129.2))     # ms, shape A
RUNS = {"A-local": ("A", 65536, 1, "local"), "A-random": ("A", 65536, 1, "random"), "B-2048": ("B", 2048, 2, "local"),
        "B-8192": ("B", 8192, 2, "local")}
OPTIONS, QUICK = {"runs": list(RUNS), "gpus": ["h200", "a100"]}, {"runs": ["B-2048"], "gpus": ["a100"]}
QUANTILES = 16


def by_work(work, grid):
    """Samples of the blocks along the second axis, in the order of their work; the first is in the middle."""
    order = sorted(range(len(work)), key=lambda i: work[i])
    at = [round(q * (len(order) - 1) / QUANTILES) for q in range(QUANTILES + 1)]
    at = [at[QUANTILES // 2], *at[:QUANTILES // 2], *at[QUANTILES // 2 + 1:]]
    head = grid[0] // 2
    return [dict(block=head + grid[0] * order[i], at=[(head + 0.5) / grid[0], (i + 0.5) / len(order), 0.5]) for i in at]


def along(grid, axis, places):
    """Samples along one axis, the first in the middle; key heads all do the same."""
    count, rest = grid[axis], grid[1 - axis] // 2
    block = lambda i: rest + grid[0] * i if axis else i + grid[0] * rest
    at = lambda i: [(rest + 0.5) / grid[0], (i + 0.5) / count, 0.5] if axis else [(i + 0.5) / count, (rest + 0.5) / grid[1], 0.5]
    found = [count // 2, *sorted({min(max(i, 0), count - 1) for i in places(count)} - {count // 2})]
    return [dict(block=block(i), at=at(i)) for i in found]


def compressed_steps(one, launch, program):
    """Steps of a program of cmp_bwd_dkdv, by its place along the second axis of the grid."""
    (tile, part), width = divmod(program, one.parts), launch.constexprs["BN"]
    starts = [b * one.count // width + b for b in range(one.B)]          # of the sequences, as find_tile numbers tiles
    first = max(start for start in starts if start <= tile)
    return padding.key_steps(launch.name, one, launch.constexprs, (tile - first) * one.parts + part)


def samples_of(one, launch):
    if launch.name == "cmp_select_fwd":          # each program takes tiles from all over the sequence
        return along(launch.grid, 0, lambda n: [0, n - 1])
    if launch.name == "select_bwd_dkdv":
        return by_work(one.chunk_sizes, launch.grid)
    if launch.name in ("cmp_bwd_dkdv", "cmp_bwd_ordered"):       # late keys have empty parts
        return by_work([compressed_steps(one, launch, i) for i in range(launch.grid[1])], launch.grid)
    if launch.name == "branch_bwd_sum":
        ptr = one.inverse["PTR"][0].tolist()
        chunks = [-(-(b - a) // layer.CHUNK) if b - a > layer.CHUNK else 0 for a, b in zip(ptr, ptr[1:])]
        rows = launch.constexprs["BR"]
        work = [n for n in chunks for _ in range(layer.LSEL // rows)]
        return by_work(work + [one.parts] * (launch.grid[1] - len(work)), launch.grid)
    return along(launch.grid, int(launch.name.endswith(("dkdv", "ordered"))), lambda n: [0, 1, n // 4, n * 3 // 4 - 1, n - 2, n - 1])


def described(launch, folder):
    """A launch as bench/cost/Predict.cpp reads it; without samples the program chooses the blocks."""
    arguments = {}
    for parameter, value in launch.leaves():
        if isinstance(value, torch.Tensor):
            arguments[parameter] = dict(type=simulator.DTYPES[value.dtype], elements=value.numel())
            if parameter in STEERING and bool(value.any()):
                path = pathlib.Path(folder) / f"{launch.name}.{parameter}"
                path.write_bytes(value.contiguous().view(torch.uint8).numpy().tobytes())
                arguments[parameter]["data"] = str(path)
        else:
            arguments[parameter] = value
    return dict(kernel=launch.name, file="kernels/" + layer.file_of(launch.name), grid=[*launch.grid, 1], constexprs=launch.constexprs,
                warps=launch.warps, stages=launch.stages, arguments=arguments, bytes=launch.bytes(),
                **({"ticket": "TICKET"} if "TICKET" in arguments else {}))


def sampled(one, name, folder):
    launch = one.launch(name)
    return dict(described(launch, folder), samples=samples_of(one, launch))


def gpu_figures(name, *keys):
    text = (ROOT / "autotune/model/devices.yaml").read_text().split(f"- name: {name}\n")[1].split("- name:")[0]
    return tuple(float(re.search(key + r": \{value: ([\d.]+)", text)[1]) for key in keys)


def bound(one, pairs, branches, backward, gpu):
    """Milliseconds that pairs of each sequence and the tensors of attention take at the GPU's peaks. branches: pairs of keys and values."""
    tflops, gbytes = gpu_figures(gpu, "bf16_tflops", "dram_gbytes")
    a, b = (3, 2) if backward else (1, 1)
    flop = 2 * one.B * pairs * one.hq * (a * one.dim + b * one.vdim)
    rows, keys = one.T * one.hq * 2 * (one.dim + one.vdim), branches * one.T * one.hkv * 2 * (one.dim + one.vdim)
    return 1e3 * max(flop / (tflops * 1e12), (2 if backward else 1) * (rows + keys) / (gbytes * 1e9))


def passes(one, dense):
    """(pass, kernels) of NSA, and with `dense` of dense attention."""
    return [("forward", FORWARD), ("backward", one.backward), ("dense forward", DENSE[:1]), ("dense backward", one.dense_backward)][:4 if dense else 2]


@functools.lru_cache(maxsize=2)
def layer_of(shape, tokens, sequences, what):
    return layer.Layer(*layer.SHAPES[shape], tokens, sequences, layer.selection(tokens, what))


def predict(context, launches, gpu):
    """What cost_predict says of launches on a GPU, by kernel."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "launches.json"
        path.write_text(json.dumps(launches(folder)))
        done = context.start([context.program("cost_predict"), path, gpu])
    return {row["kernel"]: row["gpus"][gpu] for row in json.loads(done.out)}


def records_of(run, context):
    """A record for each kernel and GPU, and for each pass."""
    shape, tokens, sequences, what = run
    one = layer_of(*run)
    todo = passes(one, shape == "B")
    of_nsa = sum(padding.pairs(name, one) for name in ("cmp_fwd", "select_list_fwd", "window_fwd"))
    for gpu in context.options.gpus:
        one.programs = 2 * int(gpu_figures(gpu, "sms")[0])
        found = predict(context, lambda folder: [sampled(one, name, folder) for _, names in todo for name in names], gpu)
        for which, names in todo:
            for name in names:
                got = found[name]
                unit, floor = max(got["floors"].items(), key=lambda one: one[1])
                yield {"gpu": gpu, "pass": which, "kernel": name, "ms": round(got["microseconds"] / 1e3, 4), "limit": got["limit"],
                       "floor_of": unit, "floor_ms": round(floor / 1e3, 4), "over_floor": round(got["microseconds"] / floor, 2),
                       "unchecked": got["unchecked"], "blocks_of_sm": got["resident_blocks"], "spilled": got["spilled_bytes"]}
            dense, backward = which.startswith("dense"), which.endswith("backward")
            of_dense = bound(one, padding.pairs("dense_fwd", one), 1, backward, gpu)
            record = {"gpu": gpu, "pass": which, "launches": len(names), "ms": round(sum(found[name]["microseconds"] for name in names) / 1e3, 3),
                      "bound": round(of_dense if dense else bound(one, of_nsa, 3, backward, gpu), 3)}
            if not dense:
                record["dense_bound"] = round(of_dense, 3)
            if shape == "A":
                record.update(bar=TARGETS[which][gpu], met=record["ms"] <= TARGETS[which][gpu])
            yield record


def rows(options):
    return {name: (name, RUNS[name]) for name in options.runs}


def measure(row, context):
    name, run = row
    for record in records_of(run, context):
        yield {"run": name, **record}


def summary(records, context):
    judged = [record for record in records if "met" in record]
    return dict(machine="no GPU: counters of the simulator, sm_90 and sm_80, and the cost model",
                bars="forward <= 39.5 / 54.9 ms, backward <= 73.7 / 129.2 ms (H200 / A100), shape A",
                met=sum(record["met"] for record in judged), missed=sum(not record["met"] for record in judged),
                table=table(records))


def table(records):
    """The table of predicted times, in Markdown."""
    sums = [record for record in records if "kernel" not in record]
    lines = ["| shape, tokens, blocks | GPU | pass | launches | predicted ms | target | bound | dense attention's bound |",
             "|---|---|---|---:|---:|---:|---:|---:|"]
    for row in sums:
        shape, tokens, sequences, what = RUNS[row["run"]]
        bar = "-" if "bar" not in row else str(row["bar"]) if row["met"] else f"**{row['bar']}**"
        lines.append(f"| {shape}, {sequences} x {tokens:,}, {what} | {row['gpu'].upper()} | {row['pass']} | {row['launches']} | {row['ms']:.2f} | {bar} "
                     f"| {row['bound']:.2f} | {row.get('dense_bound', row['bound']):.2f} |")
    return lines
