# tests/triton/parts_test.py - dk and dv of compressed attention from parts of the tokens: any number of parts, the same gradients.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import dataclasses

import pytest
import torch

from cases import Problem, Shape
from launcher import cdiv, check, dot_limit, equal
from parts import compressed_dkdv
import reference as ref


def gradients(p, k, v, lse, delta):
    """dk and dv in fp64 by the formula of docs/nsa.md, with lse and delta as given."""
    s, dk, dv = p.shape, torch.zeros(k.shape, dtype=torch.float64), torch.zeros(v.shape, dtype=torch.float64)
    starts = p.cu_cmp.tolist()
    for b, (a, z) in enumerate(ref.spans(s.lens)):
        keys = slice(starts[b], starts[b + 1])
        seen = torch.arange(z - a)[:, None] + 1 >= torch.arange(p.counts[b])[None, :] * s.d + s.l
        for head in range(p.hq):
            h = head // s.group
            q, do, kk, vv = p.q[a:z, head].double(), p.do[a:z, head].double(), k[keys, h].double(), v[keys, h].double()
            prob = torch.where(seen, (p.scale * q @ kk.T - lse[a:z, head, None]).exp(), 0.0)
            dv[keys, h] += prob.T @ do
            dk[keys, h] += p.scale * (prob * (do @ vv.T - delta[a:z, head, None])).T @ q
    return dk, dv


def ordered(name, p, dk, dv, part, span, parts):
    """Gradients of a sequence with several parts have the bits of these, added in ascending order in fp32; of others there are none."""
    s, starts = p.shape, p.cu_cmp.tolist()
    for b, length in enumerate(s.lens):
        rows, n = slice(starts[b], starts[b + 1]), min(cdiv(length, span), parts)
        if n < 2:
            equal(f"parts.none {name}", part[rows].isnan().float(), torch.ones_like(part[rows]))
            continue
        sums = part[rows, :, 0].clone()
        for i in range(1, n):
            sums += part[rows, :, i]
        equal(f"parts.order {name}", dk[rows], (sums[..., :s.dim] * torch.tensor(p.scale, dtype=torch.float32)).to(s.dtype))
        equal(f"parts.order {name}", dv[rows], sums[..., s.dim:].to(s.dtype))
        equal(f"parts.rest {name}", part[rows, :, n:].isnan().float(), torch.ones_like(part[rows, :, n:]))


# Empty and short sequences between. The third has fewer tokens after a tile's first than the tile has parts.
SHAPES = (Shape([0, 70, 0, 9, 33, 0], group=3, dim=16, vdim=32, l=8, d=4, bm=16, bn=16),
          Shape([41, 3], hkv=1, group=7, dim=40, vdim=24, l=6, d=4, bm=32, bn=16),
          Shape([20, 90], hkv=1, group=16, dim=16, vdim=16, l=4, d=4, bm=32, bn=32, by_heads=True),
          Shape([64, 30], hkv=2, group=2, dim=32, vdim=16, l=10, d=4, bm=16, bn=16, dtype=torch.float16))


@pytest.mark.parametrize("shape", SHAPES, ids=[str(number) for number in range(len(SHAPES))])
def test_parts(shape):
    p = Problem(shape, seed=7)
    kc, vc = p.compress(p.k[0], None), p.compress(p.v[0], None)
    o, lse = p.compressed(kc, vc)
    delta = (o.double() * p.do.double()).sum(-1).float()
    if shape.by_heads:
        delta = delta.T.contiguous().T
    want = gradients(p, kc, vc, lse.double(), delta.double())
    for span, parts in ((16, 1), (16, 2), (8, 5), (1, 8)):
        dk, dv, part, _ = compressed_dkdv(p, kc, vc, lse, delta, span, parts)
        name = f"({shape} SPAN={span} parts={parts})"
        for gradient, got, expected in zip(("dk", "dv"), (dk, dv), want):
            check(f"parts.{gradient} {name}", got, expected, dot_limit(shape.dtype))
        if parts > 1:
            ordered(name, p, dk, dv, part, span, parts)
        equal(f"parts.again {name}", torch.cat(compressed_dkdv(p, kc, vc, lse, delta, span, parts)[:2], 2), torch.cat((dk, dv), 2))
    # More programs than a sequence has parts change nothing: a gradient depends only on its own sequence.
    few, more = (compressed_dkdv(p, kc, vc, lse, delta, 32, n)[:2] for n in (4, 7))
    equal(f"parts.alone ({shape})", torch.cat(more, 2), torch.cat(few, 2))


@pytest.mark.parametrize("shape", (Shape([0, 70, 0, 9, 33, 0], group=3, dim=16, vdim=32, l=8, d=4),
                                   Shape([620], hkv=1, dim=16, vdim=16, l=8, d=4)), ids=("ragged", "long"))
def test_sums_of_any_tiles(shape):
    """A tuner compares the sums of tiles of all sizes, also of more than 128 keys."""
    sums = []
    for bm, bn in ((16, 16), (32, 32), (64, 16)):
        p = Problem(dataclasses.replace(shape, bm=bm, bn=bn), seed=7)
        kc, vc = p.compress(p.k[0], None), p.compress(p.v[0], None)
        o, lse = p.compressed(kc, vc)
        sums.append(compressed_dkdv(p, kc, vc, lse, (o.double() * p.do.double()).sum(-1).float(), 8, 5, add_up=False)[2])
    for other in sums[1:]:
        equal(f"parts.tiles ({shape}), written", other.isnan().float(), sums[0].isnan().float())
        check(f"parts.tiles ({shape})", other.nan_to_num(), sums[0].nan_to_num().double(), dot_limit(torch.float32))
