# tests/triton/parts.py - dk and dv of compressed attention by parts of the tokens, as docs/kernel-reference.md describes them.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
from cases import rows
from launcher import fresh, launch, pow2


def compressed_dkdv(p, k, v, lse, delta, span, parts, br=8, add_up=True):
    """dk, dv, the parts' sums, whose unwritten elements stay NaN, and span: a sequence has a part for each `span` tokens."""
    s, count = p.shape, k.shape[0]
    dk, dv = fresh(count, s.hkv, s.dim, dtype=s.dtype), fresh(count, s.hkv, s.vdim, dtype=s.dtype)
    part = fresh(count if parts > 1 else 0, s.hkv, parts, s.dim + s.vdim)
    tiles, heads = p.grid(s.bn, count)
    launch("nsa/cmp_bwd.py", "cmp_bwd_dkdv", (heads, tiles * parts), *rows(p.q, k, v, p.do, lse, delta), part,
           *rows(dk, dv), p.cu, p.cu_cmp, p.scale, p.B, parts, G=s.group, L=s.l, STRIDE=s.d, SPAN=span, **p.heads, **p.tiles)
    if parts > 1 and add_up:
        launch("nsa/bwd_sum.py", "cmp_bwd_sum", p.grid(br, count)[::-1], part, *rows(dk, dv), p.cu, p.cu_cmp, p.scale, p.B,
               parts, SPAN=span, D=s.dim, DP=pow2(s.dim), E=s.vdim, EP=pow2(s.vdim), BR=br)
    return dk, dv, part, span
