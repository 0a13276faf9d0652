#!/usr/bin/env python3
# bench/sweep.py - compressed attention, scores and top-n in one kernel beside the two separate ones, counted on the simulator.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""bench/sweep.py [--lengths 4096,8192,16384] [--shapes APB] [--windows 5] [--output FILE.json]

SIM_ABI names libtessera_sim_abi.so of a build, PROGRAM its program `tessera`. Code for sm_80, bf16, in the first configuration of each
file, l=32 d=16 l'=64 n=16, one sequence and one key head. The programs of `windows` places of the sequence run, of each place the tokens
that whole tiles of both kernels hold; cmp_select_fwd has a program for each tile here, where the op has fewer that take several.
`others` are the instructions of a warp that are no tensor instructions, for each that is one; `of_cmp` compares the tensor instructions
with those of cmp_fwd. Shapes as in bench/selected.py."""
import argparse
import math

import selected
from selected import INITIAL, LOCAL, LSEL, NSA, NSEL, SHAPES, launcher, kernel, pow2, simulator, slices, strides, torch

L, STRIDE, BM, BN, BJ, BC = 32, 16, 64, 64, 16, 32


class Launches:
    def __init__(self, shape, tokens, windows):
        hq, hkv, self.dim, vdim = SHAPES[shape]
        self.T, self.group = tokens, hq // hkv
        count = (tokens - L) // STRIDE + 1
        g = torch.Generator().manual_seed(1)
        rand = lambda *dims: torch.randn(*dims, generator=g).to(torch.bfloat16)
        self.q, self.k, self.v = rand(tokens, self.group, self.dim), rand(count, 1, self.dim), rand(count, 1, vdim)
        self.o, self.lse = torch.empty(tokens, self.group, vdim, dtype=torch.bfloat16), torch.zeros(tokens, self.group)
        self.idx = torch.zeros(1, tokens, NSEL, dtype=torch.int32)
        self.cu, self.cu_cmp = torch.tensor([0, tokens], dtype=torch.int32), torch.tensor([0, count], dtype=torch.int32)
        self.heads, self.scale = dict(E=vdim, EP=pow2(vdim)), self.dim ** -0.5
        heads = self.group & -self.group                 # that score_select has in a product
        self.tile, self.scored = BM // self.group, BM // heads
        step = math.lcm(self.tile, self.scored)
        self.places = [tokens * (2 * i + 1) // (2 * windows) // step * step for i in range(windows)]
        self.step = step

    def count(self, name, tile, args, **constexprs):
        grid = (self.T // tile + 1, 1)
        tiles = sorted(grid[0] - 1 - (p // tile + i) for p in self.places for i in range(self.step // tile))
        path, fn = NSA / (name + ".py"), kernel(str(NSA / (name + ".py")), name)
        return simulator.launch_tessera(path, name, fn, grid, args, dict(G=self.group, L=L, STRIDE=STRIDE, **constexprs),
                                        dict(num_warps=4, num_stages=2), blocks=tiles)["counters"]

    def kernels(self):
        q, k, v, o, lse = self.q, self.k, self.v, self.o, self.lse
        keys, select = slices(self.dim), dict(LSEL=LSEL, NSEL=NSEL, NP=NSEL, NINIT=INITIAL, NLOCAL=LOCAL, STORE=0, BM=BM, BJ=BJ)
        yield "cmp_fwd", self.count("cmp_fwd", self.tile, (q, k, v, o, lse, self.cu, self.cu_cmp, self.scale, 1, *strides(q, k, v, o, lse)),
                                    **keys, **self.heads, BM=BM, BN=BN)
        yield "score_select", self.count("score_select", self.scored, (q, k, lse, self.idx, lse, self.cu, self.cu_cmp, self.scale, self.T, 1, 0,
                                         *strides(q, k, lse)), GB=self.group & -self.group, **keys, **select)
        blocks = -(-self.T // LSEL)
        sums = torch.zeros(self.T // self.tile + 1, -(-blocks // BJ), (2 * BJ + 1) * BM + pow2(self.tile) * BJ)
        yield "cmp_select_fwd", self.count("cmp_select_fwd", self.tile, (q, k, v, o, lse, self.idx, lse, sums, self.cu, self.cu_cmp, self.scale,
                                           self.T, 1, 0, blocks, 0, *strides(q, k, v, o, lse)), **keys, **self.heads, **select, BC=BC, WALK=1)


def measure(options):
    for shape in options.shapes:
        for length in map(int, options.lengths.split(",")):
            tensor = None
            for name, counters in Launches(shape, length, options.windows).kernels():
                row = dict(shape=shape, length=length, kernel=name)
                row.update({figure: counters[key] for figure, key in selected.FIGURES.items()})
                tensor = tensor or row["tensor"]
                yield dict(row, others=round(row["warp"] / row["tensor"] - 1, 3), of_cmp=round(row["tensor"] / tensor, 4))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", default="4096,8192,16384")
    parser.add_argument("--shapes", default="APB")
    parser.add_argument("--windows", type=int, default=5)
    parser.add_argument("--output")
    options = parser.parse_args()
    launcher.use(compiler="tessera")
    rows = []
    for row in measure(options):
        rows.append(row)
        print(*(f"{key} {value}" for key, value in row.items()), flush=True)
    if options.output:
        selected.write(options.output, "bench/sweep.py", rows)


if __name__ == "__main__":
    main()
