# tests/triton/cases.py - shapes under test, and launches of complete stages as docs/kernel-reference.md describes them.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import dataclasses
import math
from typing import NamedTuple

import pytest
import torch

import reference as ref
from launcher import cdiv, fresh, launch, pow2


@dataclasses.dataclass
class Shape:
    lens: list
    hkv: int = 2
    group: int = 2
    dim: int = 16
    vdim: int = 16
    l: int = 8
    d: int = 4
    lsel: int = 8
    n: int = 4
    w: int = 12
    dtype: torch.dtype = torch.float32
    bm: int = 16
    bn: int = 16
    by_heads: bool = False      # lse and delta are stored with the heads outermost

    def __str__(self):
        return (f"lens={self.lens} Hkv={self.hkv} G={self.group} D={self.dim}/{self.vdim} l={self.l} d={self.d} "
                f"l'={self.lsel} n={self.n} w={self.w} {str(self.dtype)[6:]}")


# Lengths cover one token, shorter than a compressed block, exactly one block, tails; empty sequences at every position.
SHAPES = [
    Shape([1]),
    Shape([33], group=1, dim=48, vdim=16, n=3),
    Shape([0, 15, 5, 0, 64, 1], group=3, dim=16, vdim=48, bm=32, by_heads=True),
    Shape([111], group=4, dim=64, vdim=64, l=16, d=8, lsel=32, n=3, w=64, bm=64, bn=32),
    Shape([64, 0, 47], hkv=1, group=6, dim=80, vdim=64, l=16, d=16, lsel=16, n=3, w=1, bn=32),
    Shape([31, 8], hkv=1, group=16, dim=16, vdim=32, l=4, d=4, lsel=4, n=6, w=200, bm=64, by_heads=True),
    Shape([50], group=2, dim=16, vdim=16, l=10, d=4, lsel=7, n=5, w=9),
    Shape([19, 3], hkv=1, group=1, dim=256, vdim=128, l=4, d=2, lsel=8, n=3, w=5),
    Shape([75, 7], group=2, dim=32, vdim=48, dtype=torch.float16, bm=32),
    Shape([20, 0, 9], group=7, hkv=1, dim=16, vdim=16, bm=16),
    Shape([13, 0, 6], group=16, hkv=1, dim=192, vdim=128, l=4, d=2, lsel=4, n=3, w=5, bm=32),
    Shape([21, 3], group=2, dim=40, vdim=24, n=3),
    Shape([35, 5], group=2, l=6, d=4, n=3),                          # the end of a block is half of the next one's beginning
    Shape([104], hkv=1, group=1, l=4, d=2, w=40),                    # the loops over compressed tokens take four steps
]


# Shapes with the constants of the `# tessera: instance` comments. Sequences are as short as still reach every branch.
INSTANCES = dict(
    quick=Shape([77, 40], hkv=1, group=3, dim=32, vdim=32, l=16, d=8, lsel=32, n=6, w=128, bm=64, bn=32),
    d64=Shape([150], hkv=1, group=4, dim=64, vdim=64, l=32, d=16, lsel=64, n=16, w=512, bm=64, bn=64),
    paper=Shape([70], hkv=1, group=16, dim=192, vdim=128, l=32, d=16, lsel=64, n=16, w=512, bm=64, bn=64, dtype=torch.bfloat16))


def numbered(shapes, numbers):
    """A test for each; its name is the shape's number."""
    return pytest.mark.parametrize("shape", [shapes[number] for number in numbers], ids=map(str, numbers))


SLOW = (3, 4, 11, 12)     # take the interpreter up to 16 s: slow_shapes_test.py has them
each_shape = numbered(SHAPES, [number for number in range(len(SHAPES)) if number not in SLOW])


def slices(size):
    """A head size as the kernels take it: 192 is 128 and a tail of 64, 40 is 32 and 16; 24 is 32, for which a tail saves nothing."""
    whole, tail = pow2(size), max(16, pow2(size - pow2(size) // 2))
    split = size < whole and tail < whole // 2
    return dict(D=size, DP=whole // 2 if split else whole, DT=tail if split else 0)


def log_of_two(power):
    """x with fp32(x * log2(e)) == power, as kernels compute it; of 0 and of powers of two there is one."""
    x = torch.tensor(power * math.log(2), dtype=torch.float32)
    near = (x, torch.nextafter(x, x * 0), torch.nextafter(x, x * 2))
    return next(y.item() for y in near if y * torch.tensor(1.4426950408889634, dtype=torch.float32) == power)


class Problem:
    """Random inputs of one shape; q and the keys are slices of wider tensors, so strides are not the packed ones."""

    def __init__(self, shape, seed=0):
        self.shape = s = shape
        g = torch.Generator().manual_seed(seed)
        self.T, self.hq, self.B = sum(s.lens), s.hkv * s.group, len(s.lens)
        rand = lambda *dims: torch.randn(*dims, generator=g).to(s.dtype)
        self.q = rand(self.T, self.hq + 1, s.dim)[:, 1:]
        self.k = [rand(self.T, s.hkv, s.dim + 4)[..., :s.dim] for _ in range(3)]
        self.v = [rand(self.T, s.hkv, s.vdim) for _ in range(3)]
        self.do = rand(self.T, self.hq, s.vdim)
        self.logits = rand(self.T, s.hkv, 3)
        self.wk, self.wv = rand(s.l, s.dim), rand(s.l, s.vdim)
        self.counts = [ref.compressed_count(n, s.l, s.d) for n in s.lens]
        self.cu, self.cu_cmp = ref.prefix(s.lens), ref.prefix(self.counts)
        self.most_blocks = cdiv(max(s.lens), s.lsel)
        self.scale = 1.0 / math.sqrt(s.dim)
        self.keys = slices(s.dim)
        self.heads = dict(**self.keys, E=s.vdim, EP=pow2(s.vdim))
        self.tiles = dict(BM=s.bm, BN=s.bn)

    def exact(self, generator):
        """Makes the inputs of the selected branch small integers, and the scale such that scores are integers in units of log 2: their
        powers of two and all sums of products are exact in fp32, so that sums in any order have the same bits. Returns lse and delta
        of such numbers for a backward kernel; they belong to no forward pass."""
        pick = lambda x, low, high: torch.randint(low, high + 1, x.shape, generator=generator).to(x.dtype)
        few = lambda x: pick(x, -1, 1) * (torch.rand(x.shape, generator=generator).argsort(-1) < 4)      # at most 4 are not zero
        self.q.copy_(few(self.q))
        self.do.copy_(few(self.do))
        self.k[1].copy_(pick(self.k[1], -1, 1))
        self.v[1].copy_(pick(self.v[1], -1, 1))
        self.scale = log_of_two(1.0)
        powers, rows = torch.tensor([log_of_two(x) for x in (0.0, 1.0, 2.0, 4.0)]), torch.empty(self.T, self.hq)
        return powers[torch.randint(0, 4, rows.shape, generator=generator)], pick(rows, -3, 3)

    def grid(self, size, total=None):
        """Tiles of `size` entries, as find_tile numbers them; a kernel by keys takes them reversed."""
        return (self.T if total is None else total) // size + self.B, self.shape.hkv

    def grid_rows(self):
        return self.grid(self.shape.bm // self.shape.group)

    def rows(self):
        """An fp32 number for each token and query head: lse or delta, [T, Hq]."""
        return fresh(self.hq, self.T).T if self.shape.by_heads else fresh(self.T, self.hq)

    def outputs(self):
        return fresh(self.T, self.hq, self.shape.vdim, dtype=self.shape.dtype), self.rows()

    def compress(self, x, w):
        s, dim = self.shape, x.shape[-1]
        out = fresh(sum(self.counts), s.hkv, dim, dtype=s.dtype)
        bc = 4
        launch("nsa/compress_fwd.py", "compress_fwd", self.grid(bc, sum(self.counts)), x, x if w is None else w, out,
               self.cu, self.cu_cmp, self.B, *strides(x), *strides(out), L=s.l, STRIDE=s.d, D=dim, DP=pow2(dim),
               CONV=int(w is not None), BC=bc)
        return out

    def compressed(self, kc, vc):
        o, lse = self.outputs()
        launch("nsa/cmp_fwd.py", "cmp_fwd", self.grid_rows(), *rows(self.q, kc, vc, o, lse), self.cu, self.cu_cmp, self.scale, self.B,
               G=self.shape.group, L=self.shape.l, STRIDE=self.shape.d, **self.heads, **self.tiles)
        return o, lse

    def select(self, kc, lse, store=1, bt=8, bj=4):
        """Tiles of bt tokens, fewer where a product would have more than 128 rows."""
        s, nb = self.shape, self.most_blocks
        heads = s.group & -s.group
        bm = min(bt * heads, 128)
        idx = fresh(s.hkv, self.T, s.n, dtype=torch.int32)
        score = torch.zeros(s.hkv, self.T, nb)
        launch("nsa/score_select.py", "score_select", self.grid(bm // heads), self.q, kc, lse, idx,
               score if store else lse, self.cu, self.cu_cmp, self.scale, self.T, self.B, nb if store else 0,
               *strides(self.q, kc, lse), G=s.group, GB=heads, L=s.l, STRIDE=s.d, LSEL=s.lsel, NSEL=s.n,
               NP=pow2(s.n), NINIT=1, NLOCAL=2, **self.keys, STORE=store, BM=bm, BJ=bj)
        return idx, score

    def sweep(self, kc, vc, store=1, bj=None, bc=16, programs=2, at=None, walk=1, merge=1):
        """o, lse, indices and scores in one launch. bj: blocks of a tile, by default as few as a product of 16 columns holds.
        `at`: only the queries of that position of each sequence, as decoding launches it; all have that many tokens."""
        s, nb = self.shape, self.most_blocks
        bj = bj or max(1, 16 // pow2(cdiv(s.lsel, s.d)))
        reach = (s.lsel - (s.d if s.lsel % s.d == 0 else 1) + s.l - 1) // s.lsel
        chosen = slice(None) if at is None else torch.tensor([a + at for a in self.cu[:-1].tolist()])
        q, cu = self.q[chosen], self.cu if at is None else torch.arange(self.B + 1, dtype=torch.int32)
        o, lse, tokens = *(x[chosen].clone() for x in self.outputs()), len(q)
        idx, score = fresh(s.hkv, tokens, s.n, dtype=torch.int32), torch.zeros(s.hkv, tokens, nb)
        room = lambda width: cdiv(nb, width) * (((reach + 1) * width + 1) * s.bm + pow2(s.bm // s.group) * width)
        sums = fresh(s.hkv, programs, max(room(bj), room(16)))       # enough for tiles of 16 blocks, too, which instances have
        launch("nsa/cmp_select_fwd.py", "cmp_select_fwd", (programs, s.hkv), *rows(q, kc, vc, o, lse), idx, score if store else lse,
               sums, cu, self.cu_cmp, self.scale, tokens, self.B, nb if store else 0, nb, at or 0, G=s.group, L=s.l, STRIDE=s.d,
               LSEL=s.lsel, NSEL=s.n, NP=pow2(s.n), NINIT=1, NLOCAL=2, **self.heads, STORE=store, BM=s.bm, BJ=bj, BC=bc, WALK=walk, MERGE=merge)
        return o, lse, idx, score

    def ranges(self, idx):
        s = self.shape
        out = fresh(s.hkv, self.T, s.n, 2, dtype=torch.int32)
        launch("nsa/ranges.py", "merge_ranges", self.grid(16), idx, out, self.cu, self.T, self.B,
               LSEL=s.lsel, NSEL=s.n, BT=16)
        return out

    def packed_blocks(self, fill=float("nan")):
        """Keys and values of the selected branch by blocks. `fill`: elements that no kernel writes and none may read."""
        return self.pack(self.k[1], self.keys, self.v[1], fill)

    def pack(self, columns, slices, values, fill=float("nan")):
        """The blocks of the selected branch: `columns` transposed, in slices of DP and DT, and `values` row by row."""
        s = self.shape
        lp, blocks, width = max(16, pow2(s.lsel)), self.grid(s.lsel), pow2(values.shape[2])
        k = torch.full((s.hkv, blocks[0], slices["DP"] + slices["DT"], lp), fill, dtype=s.dtype)
        v = torch.full((s.hkv, blocks[0], lp, width), fill, dtype=s.dtype)
        launch("nsa/select_packed_fwd.py", "pack_keys", blocks, *rows(columns, values), k, v, self.cu, self.B,
               blocks[0], LSEL=s.lsel, LP=lp, **slices, E=values.shape[2], EP=width, BK=8)
        return k, v

    def packed_dq(self, idx, do, lse, delta, dq, **extra):
        """Writes dq from packed blocks."""
        s = self.shape
        kt, _ = self.packed_blocks()
        vt, kp = self.pack(self.v[1], dict(D=s.vdim, DP=pow2(s.vdim), DT=0), self.k[1])
        launch("nsa/select_packed_bwd.py", "select_packed_bwd_dq", self.grid(1), *rows(self.q), kt, kp, vt, idx,
               *rows(do, lse, delta, dq), self.cu, self.scale, self.T, self.B, kt.shape[1], G=s.group, GP=pow2(s.group),
               LSEL=s.lsel, LP=kt.shape[3], NSEL=s.n, **self.heads, KW=kp.shape[3], BN=s.bn, **extra)

    def lists(self, idx, bt):
        """What the tiles of bt tokens selected: blocks with their tokens' bits in the upper half, and how many each tile has."""
        s, grid = self.shape, self.grid(bt)
        lists = fresh(s.hkv, grid[0], bt * s.n, dtype=torch.int64)
        counts = fresh(s.hkv, grid[0], dtype=torch.int32)
        launch("nsa/select_lists.py", "select_lists", grid, idx, lists, counts, self.cu, self.T, self.B, LSEL=s.lsel, NSEL=s.n,
               NP=pow2(s.n), BT=bt, BTP=pow2(bt))
        return lists, counts

    def walked(self, idx):
        """Arguments and constexprs of the kernels that walk lists."""
        s = self.shape
        bm = min(s.bm, 32 * pow2(s.group))       # a token has a bit in a word of 32
        return self.lists(idx, bm // s.group), dict(G=s.group, LSEL=s.lsel, NSEL=s.n, **self.heads, BM=bm, BN=s.bn)

    def list_dq(self, idx, do, lse, delta, dq, **extra):
        """Writes dq from lists."""
        k, v, (lists, tile) = self.k[1], self.v[1], self.walked(idx)
        launch("nsa/select_list_bwd_dq.py", "select_list_bwd_dq", self.grid(tile["BM"] // tile["G"]), *rows(self.q, k, v), *lists,
               *rows(do, lse, delta, dq), self.cu, self.scale, self.B, **tile, **extra)

    def token_dq(self, idx, do, lse, delta, dq, **extra):
        """Writes dq by a program for each token."""
        s = self.shape
        launch("nsa/select_bwd_dq.py", "select_bwd_dq", self.grid(1), *rows(self.q, self.k[1], self.v[1]), idx, *rows(do, lse, delta, dq), self.cu,
               self.scale, self.T, self.B, G=s.group, GP=pow2(s.group), LSEL=s.lsel, NSEL=s.n, **self.heads, BN=s.bn, **extra)

    def selected(self, idx, kernel):
        s = self.shape
        o, lse = self.outputs()
        if kernel == "select_list_fwd":
            k, v, (lists, tile) = self.k[1], self.v[1], self.walked(idx)
            launch("nsa/select_list_fwd.py", kernel, self.grid(tile["BM"] // s.group), *rows(self.q, k, v), *lists, *rows(o, lse),
                   self.cu, self.scale, self.B, **tile)
            return o, lse
        if kernel == "select_packed_fwd":
            k, v = self.packed_blocks()
            launch("nsa/select_packed_fwd.py", kernel, self.grid(1), *rows(self.q), k, v, idx, *rows(o, lse), self.cu,
                   self.scale, self.T, self.B, k.shape[1], G=s.group, GP=pow2(s.group), LSEL=s.lsel, LP=k.shape[3],
                   NSEL=s.n, **self.heads, BN=s.bn)
            return o, lse
        launch("nsa/select_fwd.py", "select_fwd", self.grid(1), *rows(self.q, self.k[1], self.v[1]), idx, *rows(o, lse), self.cu, self.scale,
               self.T, self.B, G=s.group, GP=pow2(s.group), LSEL=s.lsel, NSEL=s.n, **self.heads, BN=s.bn)
        return o, lse

    def window(self, dense=False):
        o, lse = self.outputs()
        path, name, extra = ("dense/attn_fwd.py", "dense_fwd", {}) if dense else ("nsa/window_fwd.py", "window_fwd", dict(W=self.shape.w))
        launch(path, name, self.grid_rows(), *rows(self.q, self.k[2], self.v[2], o, lse), self.cu, self.scale, self.B, G=self.shape.group,
               **extra, **self.heads, **self.tiles)
        return o, lse

    def combine(self, branches, softmax, tau, bt=16):
        s = self.shape
        gates, o = fresh(self.T, s.hkv, 3), fresh(self.T, self.hq, s.vdim, dtype=s.dtype)
        launch("nsa/gate_fwd.py", "gate_fwd", (cdiv(self.T, bt), s.hkv), *branches, self.logits, gates, o, self.T, 1.0 / tau,
               *strides(branches[0], self.logits, gates, o), G=s.group, E=s.vdim, EP=pow2(s.vdim), SOFTMAX=softmax, BT=bt)
        return gates, o


class Rows(NamedTuple):
    """A tensor as the kernels of attention take it."""
    ptr: torch.Tensor
    token: int
    head: int


def rows(*tensors):
    return [Rows(x, x.stride(0), x.stride(1)) for x in tensors]


def strides(*tensors):
    """Token and head strides of each, in order."""
    return [x.stride(i) for x in tensors for i in (0, 1)]
