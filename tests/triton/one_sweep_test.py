# tests/triton/one_sweep_test.py - cmp_select_fwd compared with cmp_fwd and score_select: the same attention, scores and selection.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""The selection must be the reference's of the kernel's own scores, whatever they are; where scores are equal or NaN in both ways
alike, also the other kernels' selection. A query by itself, as decoding launches it, has the bits of the query among all."""
import pytest
import torch

from cases import Problem, Shape
from launcher import check, dot_limit, equal, mend_bf16
import reference as ref

mend_bf16()
GROUPS = [
    Shape([37, 0, 20], group=1, hkv=1, n=3, bm=16),
    Shape([0, 33, 9, 0], group=2, n=4, bm=16),
    Shape([41], hkv=1, group=4, l=16, d=4, lsel=8, n=3, bm=32),      # tokens reach over two later blocks
    Shape([0, 29, 0, 3], hkv=1, group=6, n=3, bm=32),
    Shape([30], hkv=1, group=7, dim=16, n=4, bm=16),
    Shape([19, 8], hkv=1, group=16, l=4, d=4, lsel=4, n=3, bm=32),
    Shape([41, 3], hkv=1, group=2, l=8, d=4, lsel=16, n=3, bm=16),    # four compressed tokens in a block
    Shape([31, 5], group=2, l=10, d=4, lsel=7, n=3, bm=16),          # nothing divides anything
    Shape([27], hkv=1, group=3, dim=40, vdim=24, dtype=torch.bfloat16, n=3, bm=16),
]
MERGED = [Shape([69, 18], hkv=1, group=2, l=4, d=2, lsel=4, n=4, bm=64), Shape([41, 3], hkv=1, group=3, l=8, d=4, lsel=16, n=3, bm=32)]


def both(what, p, kc, vc, limit=None, same=False):
    """limit: of o, lse and scores between the two ways; None: too far apart in fp32 to compare."""
    s = p.shape
    o, lse, idx, score = p.sweep(kc, vc)
    own = ref.select_all(score, s.lens, s.lsel, s.n)
    equal(f"one_sweep.indices {what}", idx, own)
    equal(f"one_sweep.steps {what}", p.sweep(kc, vc, store=0, bc=8, programs=1, walk=0)[2], idx)
    wide = p.sweep(kc, vc, bj=16)                # other tiles, other sums: the same rule
    equal(f"one_sweep.tiles {what}", wide[2], ref.select_all(wide[3], s.lens, s.lsel, s.n))
    apart_o, apart_lse = p.compressed(kc, vc)
    apart_idx, apart_score = p.select(kc, apart_lse)
    if same:
        equal(f"one_sweep.separate {what}", idx, apart_idx)
    if limit:
        check(f"one_sweep.o {what}", o, apart_o, limit)
        check(f"one_sweep.lse {what}", lse, apart_lse, 1e-5)
        check(f"one_sweep.scores {what}", score, apart_score, 1e-5)
        near = (score - apart_score).abs().max().item()
        for h, t in (idx != apart_idx).any(-1).nonzero().tolist():      # a block differs only within the error of the scores
            mine, other = (set(x[h, t].tolist()) - {-1} for x in (idx, apart_idx))
            values = [score[h, t, j].item() for j in mine ^ other]
            equal(f"one_sweep.near {what}", torch.tensor(max(values) - min(values) <= 4 * near), torch.tensor(True))
    return idx, score


@pytest.mark.parametrize("shape", GROUPS, ids=[str(number) for number in range(len(GROUPS))])
def test_adversarial(shape):
    p = Problem(shape)
    s, limit = shape, dot_limit(shape.dtype)
    kc, vc = p.compress(p.k[0], None), p.compress(p.v[0], None)
    both(f"({s})", p, kc, vc, limit)
    even = torch.zeros_like(kc)                  # every key weighs the same: blocks of equal overlap have equal scores
    both(f"ties ({s})", p, even, vc, limit, same=True)
    again = kc.clone()                           # keys come again and again
    again[:] = kc[torch.arange(len(kc)) % 2] if len(kc) > 1 else kc
    both(f"repeated ({s})", p, again, vc, limit)
    lost = kc.clone()
    lost[len(kc) // 2] = float("nan")            # NaN for all queries that see it, and for no others
    idx, score = both(f"nan ({s})", p, lost, vc, same=True)
    equal(f"one_sweep.is_nan ({s})", score.isnan().any(), torch.tensor(True))
    far = kc.clone()
    far[::3] *= 3e3                              # most probabilities are 0, and equal
    both(f"range ({s})", p, far, vc)
    far[1::3] *= 1e-6
    both(f"small ({s})", p, far, vc)


@pytest.mark.parametrize("width", (8, 16))
@pytest.mark.parametrize("shape", MERGED, ids=("two", "four"))
def test_merged(shape, width):
    """One sum for each block instead of two, in tiles of `width` blocks: the same scores, up to the order of additions."""
    p = Problem(shape)
    kc, vc = p.compress(p.k[0], None), p.compress(p.v[0], None)
    far = kc.clone()
    far[::3] *= 3e3
    for keys in (kc, far):
        o, lse, idx, score = p.sweep(keys, vc, bj=width)
        other_o, other_lse, _, other = p.sweep(keys, vc, bj=width, merge=0)
        equal(f"one_sweep.merged ({shape})", idx, ref.select_all(score, shape.lens, shape.lsel, shape.n))
        equal(f"one_sweep.merged_steps ({shape})", p.sweep(keys, vc, bj=width, store=0, bc=8, programs=1, walk=0)[2], idx)
        for what, mine, others in (("o", o, other_o), ("lse", lse, other_lse), ("scores", score, other)):
            check(f"one_sweep.merged_{what} ({shape})", mine, others, 1e-6)


@pytest.mark.parametrize("shape", (Shape([38, 38], group=2, n=3, bm=32), Shape([26], hkv=1, group=6, dim=40, dtype=torch.bfloat16, n=3, bm=16)),
                         ids=("fp32", "bf16"))
def test_one_by_one(shape):
    p = Problem(shape)
    kc, vc = p.compress(p.k[0], None), p.compress(p.v[0], None)
    o, lse, idx, _ = p.sweep(kc, vc)
    starts = p.cu[:-1]
    for t in range(0, shape.lens[0], 5):
        its_o, its_lse, its_idx, _ = p.sweep(kc, vc, store=0, programs=1, at=t)
        equal(f"decode.indices {t} ({shape})", its_idx, idx[:, starts + t])
        equal(f"decode.o {t} ({shape})", its_o, o[starts + t])
        equal(f"decode.lse {t} ({shape})", its_lse, lse[starts + t])
