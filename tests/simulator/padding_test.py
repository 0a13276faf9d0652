# tests/simulator/padding_test.py - tensor instructions of the attention kernels, compared with those that heads and groups need.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""One sequence, of which every query sees all earlier keys in every branch, so that each kernel walks the same tiles. Needed: the rows
there are (tokens times heads of the group), the keys of the tiles they walk, D and E as they are. Executed: the simulator's counter. The
first is worked out here, without the kernels' text."""
import pytest
import simulator
import simulator_launcher as launcher
from simulator_launcher import cdiv, fresh, launch, pow2, torch

from cases import Problem, Shape, rows, strides  # after simulator_launcher, which then launches the kernels

launcher.use(compiler="tessera", warps=4, stages=2)

LIMIT = 1.15
MACS = 16 * 8 * 16              # of one bf16 instruction of a warp
TOKENS, TILE = 240, 64          # rows and keys of a tile
HEADS, GROUPS = [(192, 128), (128, 128), (64, 64)], [16, 4, 6]
COMPRESSED = dict(L=32, STRIDE=16)


def by_tokens(group, keys):
    """Rows times keys of a kernel by tokens; keys(t): how many keys token t sees."""
    whole = TILE // group
    return sum(min(whole, TOKENS - t) * group * cdiv(keys(min(t + whole, TOKENS) - 1), TILE) * TILE for t in range(0, TOKENS, whole))


def by_keys(group, count, first):
    """The same of a kernel by keys; first(n): the first token that sees key n."""
    return sum((TOKENS - first(n)) * group * TILE for n in range(0, count, TILE))


def executed(path, name, grid, *args, **constexprs):
    before = simulator.totals["tensor_instructions"]
    launch(path, name, grid, *args, **constexprs)
    return simulator.totals["tensor_instructions"] - before


def compare(what, got, pairs, sizes):
    need = pairs * sizes / MACS
    print(f"{what:50} executed {got:8} needed {need:10.0f}  {got / need:.3f}")
    # Fewer than needed would be a wrong count.
    assert need * 0.999 <= got <= need * LIMIT, f"{what}: {got} tensor instructions, {need:.0f} are needed"


class Launches:
    """Every attention kernel with slices on one problem."""

    def __init__(self, dim, vdim, group):
        shape = Shape([TOKENS], hkv=1, group=group, dim=dim, vdim=vdim, l=32, d=16, lsel=64, n=4, w=512, bm=TILE, bn=TILE,
                      dtype=torch.bfloat16)
        self.p, self.dim, self.vdim, self.group = Problem(shape), dim, vdim, group
        self.count = self.p.counts[0]
        self.kc, self.vc = self.p.k[0][:self.count].contiguous(), self.p.v[0][:self.count].contiguous()
        # Every token selects all blocks up to its own.
        block = torch.arange(4, dtype=torch.int32).expand(TOKENS, 4)
        self.idx = torch.where(block <= torch.arange(TOKENS)[:, None] // 64, block, -1).reshape(1, TOKENS, 4).contiguous()
        self.rows = torch.zeros(TOKENS, group)       # for lse and delta: any finite number
        self.dense = by_tokens(group, lambda t: t + 1)
        self.dense_keys = by_keys(group, TOKENS, lambda n: n)
        self.seen = by_tokens(group, lambda t: max(0, t + 1 - 32 + 16) // 16)
        self.seen_keys = by_keys(group, self.count, lambda n: n * 16 + 31)

    def name(self, kernel):
        return f"{kernel} {self.dim}/{self.vdim} G={self.group}"

    def run(self, path, kernel, grid, args, pairs, sizes, **extra):
        compare(self.name(kernel), executed(path, kernel, grid, *args, G=self.group, **extra), pairs, sizes)

    def branch(self, path, stem, k, v, cu, extra, pairs, key_pairs):
        """Forward, dq, dk and dv of a branch without indices."""
        p, d, e = self.p, self.dim, self.vdim
        forward = {"dense/attn_bwd.py": "dense/attn_fwd.py"}.get(path, path.replace("_bwd", "_fwd"))
        heads = dict(**extra, **p.heads, **p.tiles)
        o, lse = p.outputs()
        sequences = (*cu, p.scale, p.B)
        self.run(forward, stem + "_fwd", p.grid_rows(), (*rows(p.q, k, v, o, lse), *sequences), pairs, d + e, **heads)
        dq, dk, dv = (fresh(*x.shape, dtype=x.dtype) for x in (p.q, k, v))
        given = rows(p.q, k, v, p.do, self.rows, self.rows)
        self.run(path, stem + "_bwd_dq", p.grid_rows(), (*given, *rows(dq), *sequences), pairs, 2 * d + e, **heads)
        if stem == "cmp":                        # in one part: PART is not touched
            given, sequences, heads = (*given, self.rows), (*sequences, 1), dict(**heads, SPAN=256)
        self.run(path, stem + "_bwd_dkdv", p.grid(TILE, k.shape[0])[::-1], (*given, *rows(dk, dv), *sequences), key_pairs, 2 * d + 2 * e, **heads)

    def selected(self):
        p, d, e = self.p, self.dim, self.vdim
        k, v, lse, delta = p.k[1], p.v[1], self.rows, self.rows
        dq, dk, dv = (fresh(*x.shape, dtype=x.dtype) for x in (p.q, k, v))
        extra = dict(LSEL=64, NSEL=4, **p.heads, **p.tiles)
        walked = p.lists(self.idx, TILE // self.group)
        o, sums = p.outputs()
        self.run("nsa/select_list_fwd.py", "select_list_fwd", p.grid_rows(), (*rows(p.q, k, v), *walked, *rows(o, sums), p.cu, p.scale, p.B),
                 self.dense, d + e, **extra)
        self.run("nsa/select_list_bwd_dq.py", "select_list_bwd_dq", p.grid_rows(), (*rows(p.q, k, v), *walked,
                 *rows(p.do, lse, delta, dq), p.cu, p.scale, p.B), self.dense, 2 * d + e, **extra)
        lists = [torch.arange(64 * j, TOKENS) for j in range(4)]
        ptr = torch.tensor([[0] + [sum(map(len, lists[:j + 1])) for j in range(4)]], dtype=torch.int32)
        inverse = torch.cat(lists).to(torch.int32).reshape(1, -1)
        self.run("nsa/select_bwd_dkdv.py", "select_bwd_dkdv", (1, 4), (*rows(p.q, k, v, p.do, lse, delta), ptr, inverse, self.rows,
                 *rows(dk, dv), p.cu, p.scale, p.T, p.B, 4), self.dense_keys, 2 * d + 2 * e, CHUNK=TOKENS * 4 + 1, **extra)

    def swept(self):
        """Compressed attention and the selection: the tensor instructions of the attention alone."""
        p, (o, lse), idx, tiles = self.p, self.p.outputs(), fresh(1, TOKENS, 4, dtype=torch.int32), self.p.grid_rows()
        sums = fresh(tiles[0], (2 * 16 + 1) * TILE + pow2(TILE // self.group) * 16)
        self.run("nsa/cmp_select_fwd.py", "cmp_select_fwd", tiles, (*rows(p.q, self.kc, self.vc, o, lse), idx, lse, sums, p.cu,
                 p.cu_cmp, p.scale, p.T, p.B, 0, 4, 0), self.seen, self.dim + self.vdim, **COMPRESSED,
                 LSEL=64, NSEL=4, NP=4, NINIT=1, NLOCAL=2, **p.heads, STORE=0, BM=TILE, BJ=16, BC=16, WALK=1, MERGE=1)

    def scores(self):
        p, idx = self.p, fresh(1, TOKENS, 4, dtype=torch.int32)
        return executed("nsa/score_select.py", "score_select", p.grid(32 // (self.group & -self.group)), p.q, self.kc, self.rows, idx, self.rows, p.cu,
                        p.cu_cmp, p.scale, p.T, p.B, 0, *strides(p.q, self.kc, self.rows), G=self.group, GB=self.group & -self.group,
                        **COMPRESSED, LSEL=64, NSEL=4, NP=pow2(4), NINIT=1, NLOCAL=2, **p.keys, STORE=0, BM=32, BJ=32)

    def all(self):
        p = self.p
        self.branch("dense/attn_bwd.py", "dense", p.k[2], p.v[2], (p.cu,), {}, self.dense, self.dense_keys)
        self.branch("nsa/window_bwd.py", "window", p.k[2], p.v[2], (p.cu,), dict(W=512), self.dense, self.dense_keys)
        self.branch("nsa/cmp_bwd.py", "cmp", self.kc, self.vc, (p.cu, p.cu_cmp), COMPRESSED, self.seen, self.seen_keys)
        self.swept()
        self.selected()


@pytest.mark.parametrize("heads", HEADS, ids=lambda heads: f"{heads[0]}-{heads[1]}")
@pytest.mark.parametrize("group", GROUPS)
def test_padding(heads, group):
    Launches(*heads, group).all()


def test_scores():
    """Scores need D alone: their instructions for 192 columns are 1.5 times those for 128."""
    wide, narrow = (Launches(dim, 128, 16).scores() for dim in (192, 128))
    assert 0 < narrow * 1.5 * 0.999 <= wide <= narrow * 1.5 * LIMIT
