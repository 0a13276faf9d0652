#!/usr/bin/env python3
# bench/selected_keys.py - work of each program of the inverse index and of dk and dv of selected attention, counted on the simulator.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""bench/selected_keys.py [--length 4096] [--far 65536] [--shape A] [--old COMMIT] [--output FILE.json]

SIM_ABI names libtessera_sim_abi.so of a build, PROGRAM its program `tessera`. Code for sm_80, bf16, first configurations of the files;
with --old also the kernels of an earlier commit, where each block is one program. Shapes and indices are those of bench/selected.py, and
`sink`: every token selects the first blocks and its own.

What a program executes is a + b * x: x are the steps over tokens of dk and dv, the chunks of a sum, the tiles of tokens or of counts.
a and b come from two programs that ran at --length, the least and the most of them, a third in between is compared (`misfit`); x of all
programs is counted from indices of both lengths. Sum, mean and longest are over programs that do not return at once, of one key head."""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import selected
from selected import LSEL, NSEL, ROOT, SHAPES, kernel, pow2, simulator, slices, strides, torch

CHUNK, BM, TILE = 512, 64, 128          # tokens of a chunk, rows of a step, tokens of a tile of the sort
FIGURES = dict(warp="warp_instructions", sectors="global_sectors", tensor="tensor_instructions")


def indices(what, tokens, overlap, seed):
    """int32 [tokens, NSEL] of one head, ascending, -1 behind the last."""
    generator, out, free = torch.Generator().manual_seed(seed), torch.full((tokens, NSEL), -1, dtype=torch.int32), []
    for t in range(tokens):
        own = t // LSEL
        forced = {b for b in (0, own - 1, own) if b >= 0}
        want = min(NSEL, own + 1) - len(forced)
        if what == "sink" or own < NSEL:
            free = [b for b in range(own + 1) if b not in forced][:want]
        else:
            keep = (torch.rand(len(free), generator=generator) < overlap).tolist() if what == "local" else [False] * len(free)
            free = [b for b, k in zip(free, keep) if k and b not in forced][:want]
            while len(free) < want:
                for b in torch.randint(1, own - 1, (2 * want,), generator=generator).tolist():
                    if b not in free and b not in forced and len(free) < want:
                        free.append(b)
        picked = sorted(forced | set(free))
        out[t, :len(picked)] = torch.tensor(picked, dtype=torch.int32)
    return out


def inverse(idx):
    """PTR and INV of one head and one sequence, by a stable sort."""
    tokens = len(idx)
    blocks, order = idx.flatten().sort(stable=True)
    order = order[blocks >= 0] // NSEL
    counts = torch.bincount(blocks[blocks >= 0].long(), minlength=tokens // LSEL + 1)
    inv = torch.zeros(1, tokens * NSEL, dtype=torch.int32)
    inv[0, :len(order)] = order.to(torch.int32)
    return torch.cat([torch.zeros(1), counts.cumsum(0)]).to(torch.int32)[None], inv, counts.tolist()


def chunk_sizes(counts):
    """(tokens of each program's chunk, as PTR numbers them; None: it returns at once), for full blocks and the empty last one."""
    out, at = [], 0
    for block, count in enumerate(counts):
        first, at = at, at + count
        for i in range(1 + at // CHUNK - first // CHUNK):
            tokens = min(count - i * CHUNK, CHUNK)
            out.append(None if block == len(counts) - 1 or (i and tokens <= 0) else tokens)
    return out


class Bench:
    def __init__(self, shape, folder):
        self.hq, self.hkv, self.dim, self.vdim = SHAPES[shape]
        self.hq //= self.hkv            # one key head and its query heads
        self.folder = folder
        self.step = BM // self.hq
        self.heads = dict(**slices(self.dim), E=self.vdim, EP=pow2(self.vdim))

    def counters(self, name, file, function, grid, args, block, old=False, warps=4, **constexprs):
        path = pathlib.Path(self.folder if old else ROOT) / "kernels" / "nsa" / file
        return simulator.launch_tessera(path, name, function, grid, args, constexprs, dict(num_warps=warps, num_stages=1),
                                        blocks=[block])["counters"]

    def row(self, name, old, work, far, run, proportional=False):
        """work, far: x of each program at both lengths; run(number): counters of one program; `proportional`: a is 0."""
        at = [i for i, x in enumerate(work) if x is not None]
        at.sort(key=lambda i: work[i])
        low, high = at[0], at[-1]
        middle = min(at, key=lambda i: abs(work[i] - (work[low] + work[high]) / 2))
        ran = {i: run(i) for i in {low, middle, high}}
        row = dict(kernel=name, old=old)
        for figure, key in FIGURES.items():
            y = {i: ran[i][key] for i in ran}
            b = y[high] / work[high] if proportional else (y[high] - y[low]) / max(1, work[high] - work[low])
            a = y[low] - b * work[low]
            if figure == "warp":
                row["misfit"] = round(abs(a + b * work[middle] - y[middle]) / y[middle], 4)
            for length, all_x in (("", work), ("_far", far)):
                costs = [a + b * x for x in all_x if x is not None]
                row[figure + length] = round(sum(costs))
                if figure == "warp":
                    row.update({"programs" + length: len(costs), "longest" + length: round(max(costs)),
                                "longest_of_mean" + length: round(max(costs) * len(costs) / sum(costs), 3)})
        return row

    def gradients(self, idx, far, old):
        """Yields the rows of dk, dv and of their sum."""
        tokens, cu = len(idx), torch.tensor([0, len(idx)], dtype=torch.int32)
        rand = lambda *dims: torch.randn(*dims).to(torch.bfloat16)
        q, k, v, do = (rand(tokens, h, d) for h, d in ((self.hq, self.dim), (1, self.dim), (1, self.vdim), (self.hq, self.vdim)))
        rows, dk, dv = torch.zeros(tokens, self.hq), torch.empty_like(k), torch.empty_like(v)
        (ptr, inv, counts), far_counts = inverse(idx), inverse(far)[2]
        blocks, moved = len(counts), strides(q, k, v, do, dk, dv, rows, rows)
        common = dict(G=self.hq, LSEL=LSEL, NSEL=NSEL, **self.heads, BM=BM, BN=LSEL)
        steps = lambda sizes: [None if x is None else -(-x // self.step) for x in sizes]
        file, name = "select_bwd_dkdv.py", "select_bwd_dkdv"
        if old:
            yield self.row(name, True, steps(counts[:-1]), steps(far_counts[:-1]), lambda i: self.counters(
                name, file, self.old(file, name), (1, blocks), (q, k, v, do, rows, rows, ptr, inv, dk, dv, cu, 0.1, tokens, 1, blocks,
                                                                *moved), i, True, **common))
        chunks = tokens * NSEL // CHUNK + blocks
        part = torch.zeros(1, chunks, LSEL, self.dim + self.vdim)
        fn = kernel("nsa/" + file, name)
        yield self.row(name, False, steps(chunk_sizes(counts)), steps(chunk_sizes(far_counts)), lambda i: self.counters(
            name, file, fn, (1, chunks), (q, k, v, do, rows, rows, ptr, inv, part, dk, dv, cu, 0.1, tokens, 1, blocks, *moved), i,
            CHUNK=CHUNK, **common))
        of_sum = lambda counts: [-(-c // CHUNK) if c > CHUNK else None for c in counts for _ in range(LSEL // 8)]
        file = "bwd_sum.py"
        fn = kernel("nsa/" + file, "select_bwd_sum")
        yield self.row("select_bwd_sum", False, of_sum(counts), of_sum(far_counts), lambda i: self.counters(
            "select_bwd_sum", file, fn, (1, blocks * LSEL // 8), (part, ptr, dk, dv, cu, 0.1, 1, blocks, chunks, *strides(dk, dv)), i,
            LSEL=LSEL, CHUNK=CHUNK, D=self.dim, DP=pow2(self.dim), E=self.vdim, EP=pow2(self.vdim), BR=8))

    def index(self, idx, far, old):
        """Yields the rows of the inverse index. New programs of one kernel all do the same work, or go by the number of tiles."""
        tokens, cu = len(idx), torch.tensor([0, len(idx)], dtype=torch.int32)
        ptr, inv, counts = inverse(idx)
        blocks, file, common = len(counts), "inverse_index.py", dict(LSEL=LSEL, NSEL=NSEL, NP=NSEL)
        given, count = (cu, tokens, 1, blocks), torch.zeros(1, blocks, dtype=torch.int32)
        if old:         # in the configurations of the committed tables for an A100
            for name, arrays, size in (("inverse_count", (count,), 256), ("inverse_fill", (ptr, inv), 128)):
                trips = lambda n: [-(-(n - b * LSEL) // size) for b in range(n // LSEL)]
                yield self.row(name, True, trips(tokens), trips(len(far)), lambda i: self.counters(
                    name, file, self.old(file, name), (blocks, 1), (idx, *arrays, *given), i, True, warps=2, **common, BT=size))
        tiles, far_tiles, far_blocks = tokens // TILE + 1, len(far) // TILE + 1, len(far) // LSEL + 1
        (sums, starts), bc, br = (torch.zeros(1, tiles, blocks, dtype=torch.int32) for _ in range(2)), 64, 16
        found = torch.zeros_like(ptr)
        of = lambda name: kernel("nsa/" + file, name)
        count_all = lambda name, grid, *args, **constexprs: [self.counters(name, file, of(name), grid, args, i, **constexprs)
                                                             for i in range(grid[0])]
        done = dict(inverse_count=count_all("inverse_count", (tiles, 1), idx, sums, *given, **common, BT=TILE),
                    inverse_prefix=count_all("inverse_prefix", (blocks // bc + 1, 1), sums, starts, found, tiles, blocks, BC=bc, BR=br),
                    inverse_fill=count_all("inverse_fill", (tiles, 1), idx, starts, inv, *given, **common, BT=TILE))
        assert torch.equal(inv, inverse(idx)[1]) and torch.equal(found, ptr)
        for name, ran in done.items():
            by_tile = name != "inverse_prefix"
            sums_of = lambda n, programs: [-(-n // br) * (i + 2) for i in range(programs)]      # of all blocks before, and twice of its own
            x = [1] * (len(ran) - 1) if by_tile else sums_of(tiles, len(ran))      # the last tile is empty
            far_x = [1] * (far_tiles - 1) if by_tile else sums_of(far_tiles, far_blocks // bc + 1)
            yield self.row(name, False, x, far_x, lambda i: ran[i], proportional=True)

    def old(self, file, name):
        sys.modules.pop("old_kernels", None)
        from importlib import util
        spec = util.spec_from_file_location("old_kernels", pathlib.Path(self.folder) / "kernels" / "nsa" / file)
        module = util.module_from_spec(spec)
        spec.loader.exec_module(module)
        fn = getattr(module, name)
        while type(fn).__name__ in ("Autotuner", "Heuristics"):
            fn = fn.fn
        return fn


def measure(options, folder):
    bench = Bench(options.shape, folder)
    for what in ("random", "local", "sink"):
        idx, far = (indices(what, n, options.overlap, 3) for n in (options.length, options.far))
        for row in (*bench.index(idx, far, bool(options.old)), *bench.gradients(idx, far, bool(options.old))):
            yield dict(indices=what, **row)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--length", type=int, default=4096)
    parser.add_argument("--far", type=int, default=65536)
    parser.add_argument("--shape", default="A", choices=SHAPES)
    parser.add_argument("--overlap", type=float, default=0.8)
    parser.add_argument("--old", help="a commit whose kernels have one program for each block")
    parser.add_argument("--output")
    options = parser.parse_args()
    selected.launcher.use(compiler="tessera")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        if options.old:
            files = subprocess.run(["git", "-C", str(ROOT), "archive", options.old, "kernels"], capture_output=True, check=True)
            subprocess.run(["tar", "x", "-C", folder], input=files.stdout, check=True)
        for row in measure(options, folder):
            rows.append(row)
            print(*(f"{key} {value}" for key, value in row.items()), flush=True)
    if options.output:
        selected.write(options.output, "bench/selected_keys.py", rows)


if __name__ == "__main__":
    main()
