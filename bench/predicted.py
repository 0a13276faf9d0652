#!/usr/bin/env python3
# bench/predicted.py - predicted times of a layer's attention on GPUs that are not at hand, at 65,536 tokens and at the users' shape.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""bench/predicted.py COST_PREDICT [--only A-local,B-2048,...] [--print FILE.json] [--output FILE.json]

COST_PREDICT is the program of bench/cost/Predict.cpp (ninja cost_predict); SIM_ABI is not used, and named for bench/layer.py alone.

Shape A: 64 query and 4 key heads of 128/128, one sequence of 65,536 tokens; selected blocks `local` and `random` (bench/layer.py). Shape B:
12 and 2 heads of 64/64, two sequences of 2,048 or of 8,192 tokens, local. bf16, compression by the mean, launches and tiles as the ops
make them on a GPU that no table knows, code for the GPU's target, mma.sync.

The time of a launch (docs/cost-model.md): some of its blocks run on the simulator at the full length, seven from the first to the last
tile of one key head (of cmp_select_fwd three programs of two for each multiprocessor, each of which takes tiles from all over the
sequence); counts of a block between two of them are linear, so nothing is extrapolated beyond the length that ran. Blocks whose work goes
by the lists of selected tokens (select_bwd_dkdv, branch_bwd_sum) are put in the order of their work, and 17 of them run, from the least to the most.

    cycles of a block = max(r * units, longest warp + waits), r blocks on an SM
    time = max(makespan of all blocks, sectors / L2 bandwidth, bytes of the arguments / DRAM bandwidth) + launch

A pass takes the sum of its launches. The constants of the model are those of commit d683332, fitted to published kernels of other authors
before tiles were of whole tokens, and have not changed since. `bound`: the larger of the products that seen pairs need over the peak of
bf16 and of the arguments' bytes over DRAM's, for NSA and for dense causal attention (two products a pair forward, five backward)."""
import argparse
import json
import pathlib
import platform
import re
import subprocess
import sys
import tempfile

import layer
from layer import BACKWARD, DENSE, FORWARD, ROOT, simulator, torch
import padding
import selected

STEERING = {"CU", "CU_CMP", "IDX", "LISTS", "COUNTS", "PTR", "INV"}
BARS = dict(forward=dict(h200=30, a100=55), backward=dict(h200=75, a100=130))         # ms, shape A
GPUS = ["h200", "a100"]
RUNS = {"A-local": ("A", 65536, 1, "local"), "A-random": ("A", 65536, 1, "random"), "B-2048": ("B", 2048, 2, "local"),
        "B-8192": ("B", 8192, 2, "local")}
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
        return by_work(padding.chunk_sizes(one), launch.grid)
    if launch.name == "cmp_bwd_dkdv":            # late keys have empty parts
        return by_work([compressed_steps(one, launch, i) for i in range(launch.grid[1])], launch.grid)
    if launch.name == "branch_bwd_sum":
        ptr = one.inverse["PTR"][0].tolist()
        chunks = [-(-(b - a) // layer.CHUNK) if b - a > layer.CHUNK else 0 for a, b in zip(ptr, ptr[1:])]
        rows = launch.constexprs["BR"]
        work = [n for n in chunks for _ in range(layer.LSEL // rows)]
        return by_work(work + [one.parts] * (launch.grid[1] - len(work)), launch.grid)
    return along(launch.grid, int(launch.name.endswith("dkdv")), lambda n: [0, 1, n // 4, n * 3 // 4 - 1, n - 2, n - 1])


def described(one, name, folder):
    """A launch as bench/cost/Predict.cpp reads it."""
    launch, arguments = one.launch(name), {}
    for parameter, value in launch.args.items():
        if isinstance(value, torch.Tensor):
            arguments[parameter] = dict(type=simulator.DTYPES[value.dtype], elements=value.numel())
            if parameter in STEERING and bool(value.any()):
                path = pathlib.Path(folder) / f"{name}.{parameter}"
                path.write_bytes(value.contiguous().view(torch.uint8).numpy().tobytes())
                arguments[parameter]["data"] = str(path)
        else:
            arguments[parameter] = value
    row = dict(kernel=name, file="kernels/" + layer.file_of(name), grid=[*launch.grid, 1], constexprs=launch.constexprs, warps=launch.warps,
               stages=launch.stages, arguments=arguments, bytes=launch.bytes())
    return dict(row, samples=samples_of(one, launch))


def gpu_figures(name, *keys):
    text = (ROOT / "autotune" / "devices.yaml").read_text().split(f"- name: {name}\n")[1].split("- name:")[0]
    return tuple(float(re.search(key + r": \{value: ([\d.]+)", text)[1]) for key in keys)


def bound(one, pairs, branches, backward, gpu):
    """Milliseconds that pairs of each sequence and the tensors of attention take at the GPU's peaks. branches: pairs of keys and values."""
    tflops, gbytes = gpu_figures(gpu, "bf16_tflops", "dram_gbytes")
    a, b = (3, 2) if backward else (1, 1)
    flop = 2 * one.B * pairs * one.hq * (a * one.dim + b * one.vdim)
    rows, keys = one.T * one.hq * 2 * (one.dim + one.vdim), branches * one.T * one.hkv * 2 * (one.dim + one.vdim)
    return 1e3 * max(flop / (tflops * 1e12), (2 if backward else 1) * (rows + keys) / (gbytes * 1e9))


def passes(names):
    """(pass, kernels) of NSA and of dense attention."""
    return [("forward", FORWARD), ("backward", BACKWARD), ("dense forward", DENSE[:1]), ("dense backward", DENSE[1:])][:4 if names else 2]


known = {}      # (shape, tokens, sequences, kernel) -> what the program said of it, where selected blocks do not matter


def predictions(run, one, todo, program):
    """By kernel and GPU."""
    names = [name for _, kernels in todo for name in kernels]
    key = lambda name: (*RUNS[run][:3], name)
    missing = [name for name in names if key(name) not in known]
    found = {name: {} for name in missing}
    for gpu in GPUS:
        one.programs = 2 * int(gpu_figures(gpu, "sms")[0])
        with tempfile.TemporaryDirectory() as folder:
            launches = pathlib.Path(folder) / "launches.json"
            launches.write_text(json.dumps([described(one, name, folder) for name in missing]))
            done = subprocess.run([program, launches, gpu], stdout=subprocess.PIPE, text=True, check=True)
        for row in json.loads(done.stdout):
            found[row["kernel"]].update(row["gpus"])
    known.update({key(name): got for name, got in found.items() if not name.startswith(("select", "inverse", "branch"))})
    return {name: found.get(name) or known[key(name)] for name in names}


def measure(run, program):
    """Yields a row for each kernel and GPU, then for each pass."""
    shape, tokens, sequences, what = RUNS[run]
    one = layer.Layer(*layer.SHAPES[shape], tokens, sequences, layer.selection(tokens, what))
    todo = passes(shape == "B")
    found = predictions(run, one, todo, program)
    of_nsa = sum(padding.pairs(name, one) for name in ("cmp_fwd", "select_list_fwd", "window_fwd"))
    for gpu in GPUS:
        for which, names in todo:
            for name in names:
                got = found[name][gpu]
                yield dict(run=run, gpu=gpu, **{"pass": which}, kernel=name, ms=round(got["microseconds"] / 1e3, 4), limit=got["limit"],
                           blocks_of_sm=got["resident_blocks"], spilled=got["spilled_bytes"])
            ms = sum(found[name][gpu]["microseconds"] for name in names) / 1e3
            dense, backward = which.startswith("dense"), which.endswith("backward")
            row = dict(run=run, gpu=gpu, **{"pass": which}, launches=len(names), ms=round(ms, 3),
                       bound=round(bound(one, of_nsa if not dense else padding.pairs("dense_fwd", one), 1 if dense else 3, backward, gpu), 3))
            if not dense:
                row["dense_bound"] = round(bound(one, padding.pairs("dense_fwd", one), 1, backward, gpu), 3)
            if shape == "A":
                row.update(bar=BARS[which][gpu], met=ms <= BARS[which][gpu])
            yield row


def table(result):
    """The table of docs/kernels.md."""
    sums = [row for row in result["rows"] if "kernel" not in row]
    lines = ["| shape, tokens, blocks | GPU | pass | launches | predicted ms | bar | bound | dense attention's bound |",
             "|---|---|---|---:|---:|---:|---:|---:|"]
    for row in sums:
        shape, tokens, sequences, what = RUNS[row["run"]]
        bar = "-" if "bar" not in row else str(row["bar"]) if row["met"] else f"**{row['bar']}**"
        lines.append(f"| {shape}, {sequences} x {tokens:,}, {what} | {row['gpu'].upper()} | {row['pass']} | {row['launches']} | {row['ms']:.2f} | {bar} "
                     f"| {row['bound']:.2f} | {row.get('dense_bound', row['bound']):.2f} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?", help="cost_predict of a build")
    parser.add_argument("--only", help="runs")
    parser.add_argument("--print", help="the table of a result file, and nothing else")
    parser.add_argument("--output")
    options = parser.parse_args()
    if options.print:
        return print(table(json.loads(pathlib.Path(options.print).read_text())))
    layer.launcher.use(compiler="tessera")
    rows = []
    for run in options.only.split(",") if options.only else RUNS:
        for row in measure(run, options.program):
            rows.append(row)
            print(*(f"{key} {value}" for key, value in row.items()), flush=True)
    bars = [row for row in rows if "bar" in row]
    if options.output:
        machine = f"{platform.machine()}, no GPU: counters of the simulator, sm_90 and sm_80, and the cost model"
        selected.write(options.output, "bench/predicted.py", rows, machine=machine,
                       bars="forward <= 30 / 55 ms, backward <= 75 / 130 ms (H200 / A100), shape A",
                       met=sum(row["met"] for row in bars), missed=sum(not row["met"] for row in bars))
    return None


if __name__ == "__main__":
    sys.exit(main())
