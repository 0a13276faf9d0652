# tests/triton/lists_test.py - lists of the blocks that a tile of tokens selected, and the kernels that walk them, compared with those of one token.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import pytest
import torch

from cases import Problem, Shape
from launcher import cdiv, check, dot_limit, equal, fresh, launch, pow2
import reference as ref


def want_lists(idx, lens, bt, lsel):
    """{(head, tile): [(block, bits)]}, ascending, token by token; the contents of absent tiles are undefined."""
    want = {}
    for h in range(idx.shape[0]):
        for b, (start, end) in enumerate(ref.spans(lens)):
            for t0 in range(0, end - start, bt):
                bits = {}
                for i, t in enumerate(range(t0, min(t0 + bt, end - start))):
                    for block in idx[h, start + t].tolist():
                        if 0 <= block <= t // lsel:
                            bits[block] = bits.get(block, 0) | 1 << i
                want[h, start // bt + b + t0 // bt] = sorted(bits.items())
    return want


def compare_lists(what, p, idx, bt):
    lists, counts = p.lists(idx, bt)
    want = want_lists(idx, p.shape.lens, bt, p.shape.lsel)
    for (h, tile), entries in want.items():
        words = [(bits - (1 << 32) if bits >> 31 else bits) << 32 | block for block, bits in entries]
        n = len(entries)
        equal(f"select_lists.count {what}", counts[h, tile], torch.tensor(n, dtype=torch.int32))
        equal(f"select_lists {what}", lists[h, tile, :n], torch.tensor(words, dtype=torch.int64))
        rest = lists[h, tile, n:]
        equal(f"select_lists.rest {what}", rest, torch.full_like(rest, -(1 << 30)))      # no program writes these


def random_picks(p, generator):
    """Distinct blocks up to the token's own, ascending, fewer than n of them for some; -1 after the last."""
    s = p.shape
    idx = torch.full((s.hkv, p.T, s.n), -1, dtype=torch.int32)
    for h in range(s.hkv):
        for a, z in ref.spans(s.lens):
            for t in range(z - a):
                blocks = torch.randperm(t // s.lsel + 1, generator=generator)
                blocks = blocks[:int(torch.randint(0, s.n + 1, (1,), generator=generator))].sort()[0]
                idx[h, a + t, :len(blocks)] = blocks.to(torch.int32)
    return idx


def results(p, idx, given=None):
    """{output: of tiles, of one token} of the selected branch; `given`: lse and delta of the backward, else the forward's."""
    o, lse = p.selected(idx, "select_fwd")
    o_list, lse_list = p.selected(idx, "select_list_fwd")
    rows, delta = given or (lse, (o.double() * p.do.double()).sum(-1).float())
    dq, dq_token = (fresh(*p.q.shape, dtype=p.q.dtype) for _ in range(2))
    p.list_dq(idx, p.do, rows, delta, dq)
    p.token_dq(idx, p.do, rows, delta, dq_token)
    return {"select_list_fwd.o": (o_list, o), "select_list_fwd.lse": (lse_list, lse),
            "select_list_bwd_dq": (dq, dq_token)}


def walk(p, idx, what, generator):
    """Both kinds of kernels take a row's blocks in the same order, and a block that other rows chose changes nothing: times one, plus zero.
    The order of a step's sums is the machine's: numpy's library takes another for other numbers of rows, tensor cores too. So all bits are
    compared where every sum is exact; random inputs are compared with fp64."""
    s = p.shape
    q, k, v = (x.double().requires_grad_() for x in (p.q, p.k[1], p.v[1]))
    o, lse, _ = ref.attention(q, k, v, s.lens, ref.selected_mask(idx, s.lens, s.lsel), p.scale)
    dq, = torch.autograd.grad(o, q, p.do.double())
    for name, want in zip(got := results(p, idx), (o, lse.T, dq)):
        for tile, value in zip(("", "_token"), got[name]):
            check(f"{name}{tile} {what}", value, want, dot_limit(s.dtype))
    for name, (tiles, token) in results(p, idx, p.exact(generator)).items():
        equal(f"{name}.bits {what}", tiles, token)


@pytest.mark.parametrize("group, bm, bn, lsel, n, dim, vdim", ((1, 64, 16, 8, 4, 16, 16), (2, 64, 16, 16, 3, 40, 16), (4, 16, 32, 16, 3, 32, 16),
                                          (6, 32, 16, 8, 5, 16, 24), (7, 64, 16, 7, 6, 16, 16), (16, 64, 16, 16, 4, 48, 32),
                                          (2, 32, 16, 24, 2, 16, 16)))
def test_walk(group, bm, bn, lsel, n, dim, vdim):
    generator = torch.Generator().manual_seed(7)
    p = Problem(Shape([0, 39, 0, 0, 1, 18, 0], hkv=2 if group == 2 else 1, group=group, dim=dim, vdim=vdim, lsel=lsel, n=n, bm=bm, bn=bn))
    idx = random_picks(p, generator)
    for bt in {1, 3, bm // group, 32} - {64}:
        compare_lists(f"(G={group} n={n} l'={lsel} BT={bt})", p, idx, bt)
    walk(p, idx, f"({p.shape} BM={bm} BN={bn})", generator)


def test_indices_in_any_order():
    """No kernel writes such lists of indices, but a caller may: numbers in any order, -1 between them, blocks past the token, and one block
    twice, which has one bit."""
    p = Problem(Shape([40], hkv=1, group=1, lsel=8, n=4, bm=16))
    idx = torch.tensor([[3, -1, 0, 3], [9, 2, 2, -1], [-1, 4, 1, 0], [0, 0, 0, 0]], dtype=torch.int32).repeat(10, 1)[None].contiguous()
    compare_lists("(any order)", p, idx, 16)
    q, k, v = (x.double().requires_grad_() for x in (p.q, p.k[1], p.v[1]))
    o, lse, _ = ref.attention(q, k, v, p.shape.lens, ref.selected_mask(idx, p.shape.lens, p.shape.lsel), p.scale)
    dq, = torch.autograd.grad(o, q, p.do.double())
    for kernel, write_dq in (("select_packed_fwd", p.packed_dq), ("select_list_fwd", p.list_dq)):
        got, rows = p.selected(idx, kernel)
        back = fresh(*p.q.shape, dtype=p.q.dtype)
        write_dq(idx, p.do, rows, (got.double() * p.do.double()).sum(-1).float(), back)
        for name, x, want in (("o", got, o), ("lse", rows, lse.T), ("dq", back, dq)):
            check(f"{kernel}.{name} (any order)", x, want, dot_limit(p.shape.dtype))
    none = torch.full_like(idx, -1)
    compare_lists("(nothing)", p, none, 16)


@pytest.mark.parametrize("lsel, per, n", ((2, 8, 5), (1, 16, 9), (4, 4, 1), (8, 2, 4)))
def test_super_lists(lsel, per, n):
    """Lists of larger blocks with a bit for each block, from lists in any order that repeat blocks and name absent and later ones."""
    lens, generator = [0, 39, 1, 21], torch.Generator().manual_seed(5)
    p = Problem(Shape(lens, hkv=2, group=1, lsel=lsel, n=n))
    most = min(n, cdiv(max(lens), lsel * per))
    idx = torch.randint(-1, cdiv(max(lens), lsel) + 2, (2, p.T, n), generator=generator, dtype=torch.int32)
    numbers, bits = (fresh(2, p.T, most, dtype=torch.int32) for _ in range(2))
    launch("nsa/super_blocks.py", "super_lists", p.grid(8), idx, numbers, bits, p.cu, p.T, p.B, LSEL=lsel, PER=per, NSEL=n, NP=max(pow2(n), 2), NOUT=most,
           BT=8)
    want = torch.tensor([-1, 0], dtype=torch.int32).expand(2, p.T, most, 2).clone()
    for h in range(2):
        for start, end in ref.spans(lens):
            for t in range(end - start):
                found = {}
                for block in idx[h, start + t].tolist():
                    if 0 <= block <= t // lsel:
                        found[block // per] = found.get(block // per, 0) | 1 << block % per
                for place, entry in enumerate(sorted(found.items())):
                    want[h, start + t, place] = torch.tensor(entry)
    equal("super_lists.numbers", numbers, want[..., 0])
    equal("super_lists.bits", bits, want[..., 1])
