#!/usr/bin/env python3
# bench/selected.py - what the kernels of the selected branch execute for a GPU, counted on the simulator by sampled blocks.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""bench/selected.py [--length 4096] [--rows 64] [--shapes AP] [--overlap 0.8] [--search COMMIT] [--output FILE.json]

SIM_ABI names libtessera_sim_abi.so of a build, PROGRAM its program `tessera`. Counts select_fwd and select_bwd_dq (one token) and
select_list_fwd and select_list_bwd_dq (tiles that walk lists) as code for sm_80, bf16, in the first configuration of their files; with
--search also select_tile_fwd and select_tile_bwd_dq of an earlier commit, tiles of 64 rows that search the union of their blocks.
Shapes: A has 64 query and 4 key heads of 128/128, P of 192/128, B 12 and 2 of 64/64; blocks of 64 keys, 16 selected, of them the first and
the last two.

Indices are `local`, where a free block of a token is one of its successor's with the probability --overlap, or `random`. The programs of 5
windows of 80 tokens, spread over the sequence, run with every check on; all kernels serve the same tokens, so their sums compare. Useful
tensor instructions are those that the rows whose token chose a block fill, without padding."""
import argparse
import json
import pathlib
import platform
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
NSA = ROOT / "kernels" / "nsa"
sys.path[:0] = [str(ROOT / "tests" / "simulator"), str(ROOT / "tests" / "triton")]

import simulator_launcher as launcher  # noqa: E402
from simulator_launcher import kernel, pow2, torch  # noqa: E402
import simulator  # noqa: E402
from cases import slices, strides  # noqa: E402

SHAPES = {"A": (64, 4, 128, 128), "P": (64, 4, 192, 128), "B": (12, 2, 64, 64)}
LSEL, NSEL, INITIAL, LOCAL = 64, 16, 1, 2
MACS = 16 * 8 * 16              # of one bf16 instruction of a warp
WINDOWS, WIDTH = 5, 80


def indices(heads, tokens, overlap, generator):
    """int32 [heads, tokens, NSEL], ascending, -1 behind the last. overlap None: free blocks are drawn anew for every token."""
    out = torch.full((heads, tokens, NSEL), -1, dtype=torch.int32)
    rand = lambda n: torch.rand(n, generator=generator)
    for h in range(heads):
        free = []
        for t in range(tokens):
            own = t // LSEL
            forced = {b for b in (*range(INITIAL), *range(own - LOCAL + 1, own + 1)) if 0 <= b <= own}
            keep = rand(len(free)) < overlap if overlap is not None else [False] * len(free)
            kept = [b for b, k in zip(free, keep) if k and b not in forced]
            others = [b for b in torch.randperm(own + 1, generator=generator).tolist() if b not in forced and b not in kept]
            free = kept + others[:NSEL - len(forced) - len(kept)]
            picked = sorted(forced | set(free))
            out[h, t, :len(picked)] = torch.tensor(picked, dtype=torch.int32)
    return out


class Launches:
    def __init__(self, shape, tokens, idx):
        self.hq, self.hkv, self.dim, self.vdim = SHAPES[shape]
        self.T, self.group, self.idx = tokens, self.hq // self.hkv, idx
        g = torch.Generator().manual_seed(1)
        rand = lambda *dims: torch.randn(*dims, generator=g).to(torch.bfloat16)
        self.q, self.k, self.v = rand(tokens, self.hq, self.dim), rand(tokens, self.hkv, self.dim), rand(tokens, self.hkv, self.vdim)
        self.do = rand(tokens, self.hq, self.vdim)
        self.rows = torch.zeros(tokens, self.hq)         # lse and delta: any finite numbers
        self.o, self.dq = torch.empty_like(self.do), torch.empty_like(self.q)
        self.cu, self.scale = torch.tensor([0, tokens], dtype=torch.int32), self.dim ** -0.5
        self.heads = dict(**slices(self.dim), E=self.vdim, EP=pow2(self.vdim))
        self.windows = [(tokens * (2 * i + 1) // (2 * WINDOWS)) // WIDTH * WIDTH for i in range(WINDOWS)]

    def useful(self, products):
        """Tensor instructions of the windows' rows and the blocks that their tokens chose."""
        chosen = sum(int((self.idx[:, w:w + WIDTH] >= 0).sum()) for w in self.windows)
        return chosen * self.group * LSEL * products / MACS

    def count(self, folder, name, tile, last_first, args, warps=4, stages=2, **constexprs):
        """Counters of the windows' programs of `tile` tokens each, which the grid has in their order or the last first."""
        path = folder / (name + ".py")
        grid = (self.T // tile + 1, self.hkv)
        tiles = [w // tile + i for w in self.windows for i in range(WIDTH // tile)]
        blocks = sorted((grid[0] - 1 - n if last_first else n) + grid[0] * h for n in tiles for h in range(self.hkv))
        return simulator.launch_tessera(path, name, kernel(str(path), name), grid, args, constexprs,
                                        dict(num_warps=warps, num_stages=stages), blocks=blocks)["counters"]

    def lists(self, tokens):
        """LISTS, COUNTS and the counters of their kernel. What no program of the windows writes stays zero."""
        tiles = self.T // tokens + 1
        lists = torch.zeros(self.hkv, tiles, tokens * NSEL, dtype=torch.int64)
        counts = torch.zeros(self.hkv, tiles, dtype=torch.int32)
        counters = self.count(NSA, "select_lists", tokens, False, (self.idx, lists, counts, self.cu, self.T, 1), warps=1, LSEL=LSEL,
                              NSEL=NSEL, NP=NSEL, BT=tokens, BTP=pow2(tokens))
        return (lists, counts), counters

    def kernels(self, backward, rows, search):
        """(name, counters) of each kernel; `search`: the folder of an earlier commit, or None."""
        end = "bwd_dq" if backward else "fwd"
        given = (self.do, self.rows, self.rows, self.dq) if backward else (self.o, self.rows)
        moved = strides(self.q, self.k, self.v, *((self.do, self.dq, self.rows, self.rows) if backward else given))
        inputs, common = (self.q, self.k, self.v), dict(G=self.group, LSEL=LSEL, NSEL=NSEL, BN=64)
        by_index = (*inputs, self.idx, *given, self.cu, self.scale, self.T, 1, *moved)
        stages = 1 if backward else 2            # of the tiles' first configurations
        yield "token", self.count(NSA, "select_" + end, 1, False, by_index, GP=pow2(self.group), **common, **self.heads)
        if search:
            heads = self.heads if backward else dict(D=self.dim, DP=pow2(self.dim), E=self.vdim, EP=pow2(self.vdim))
            yield "search", self.count(search, "select_tile_" + end, 64 // self.group, True, by_index, stages=stages, NP=NSEL, BM=64,
                                       **common, **heads)
        lists, made = self.lists(rows // self.group)
        yield "lists", made
        yield "list", self.count(NSA, "select_list_" + end, rows // self.group, True,
                                 (*inputs, *lists, *given, self.cu, self.scale, 1, *moved), stages=stages, BM=rows, **common, **self.heads)


FIGURES = dict(sectors="global_sectors", lines="l2_lines", tensor="tensor_instructions", warp="warp_instructions", shared="shared_ways")


def measure(options, search):
    """Yields a row for each kernel."""
    for shape in options.shapes:
        for what, overlap in (("local", options.overlap), ("random", None)):
            idx = indices(SHAPES[shape][1], options.length, overlap, torch.Generator().manual_seed(5))
            run = Launches(shape, options.length, idx)
            for backward in (False, True):
                useful, token = run.useful((2 if backward else 1) * run.dim + run.vdim), None
                for name, counters in run.kernels(backward, options.rows, search):
                    row = dict(shape=shape, indices=what, kernel=name, backward=backward)
                    row.update({figure: counters[key] for figure, key in FIGURES.items()})
                    token = token or row
                    row["sectors_of_token"] = round(row["sectors"] / token["sectors"], 4)
                    row["warp_of_token"] = round(row["warp"] / token["warp"], 4)
                    if row["tensor"]:
                        row["useful"] = round(useful / row["tensor"], 4)
                    yield row


def write(path, command, rows, **more):
    """A result file: command, commit, machine, what else is said of all rows, a row a line."""
    commit = subprocess.run(["git", "-C", str(ROOT), "describe", "--always", "--dirty"], text=True, capture_output=True)
    about = dict(command=" ".join([command, *sys.argv[1:]]), commit=commit.stdout.strip(),
                 date=time.strftime("%Y-%m-%d", time.gmtime()), machine=f"{platform.machine()}, no GPU: counters of the simulator, sm_80")
    about.update(more)
    lines = ",\n".join("  " + json.dumps(row) for row in rows)
    pathlib.Path(path).write_text(json.dumps(about, indent=1)[:-2] + ',\n "rows": [\n' + lines + "\n ]\n}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--length", type=int, default=4096)
    parser.add_argument("--rows", type=int, default=64, help="of a tile that walks a list")
    parser.add_argument("--shapes", default="AP")
    parser.add_argument("--overlap", type=float, default=0.8)
    parser.add_argument("--search", help="a commit that has select_tile_fwd.py")
    parser.add_argument("--output")
    options = parser.parse_args()
    launcher.use(compiler="tessera")
    with tempfile.TemporaryDirectory() as folder:
        if options.search:
            files = subprocess.run(["git", "-C", str(ROOT), "archive", options.search, "kernels/nsa"], capture_output=True, check=True)
            subprocess.run(["tar", "x", "-C", folder], input=files.stdout, check=True)
        rows = []
        for row in measure(options, pathlib.Path(folder) / "kernels" / "nsa" if options.search else None):
            rows.append(row)
            print(*(f"{key} {value}" for key, value in row.items()), flush=True)
    if options.output:
        write(options.output, "bench/selected.py", rows)


if __name__ == "__main__":
    main()
