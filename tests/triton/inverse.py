# tests/triton/inverse.py - the inverse index of selected blocks, and dk and dv from it, by the recipes of docs/kernel-reference.md.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import torch

from cases import rows
from launcher import cdiv, equal, fresh, launch, pow2
import reference as ref


def inverse_index(p, idx, bt=128, bc=64, br=16):
    """(PTR, INV, blocks), compared with lists that are made token by token. bt: tokens of a tile that is sorted, bc and br: blocks
    and tiles whose prefix sums are made at once."""
    s = p.shape
    nblk, (tiles, _) = p.grid(s.lsel)[0], p.grid(bt)
    ptr, inv = fresh(s.hkv, nblk + 1, dtype=torch.int32), fresh(s.hkv, p.T * s.n, dtype=torch.int32)
    counts, starts = (fresh(s.hkv, tiles, nblk, dtype=torch.int32) for _ in range(2))
    extra = dict(LSEL=s.lsel, NSEL=s.n, NP=pow2(s.n), BT=bt)
    path = "nsa/inverse_index.py"
    launch(path, "inverse_count", (tiles, s.hkv), idx, counts, p.cu, p.T, p.B, nblk, **extra)
    launch(path, "inverse_prefix", (cdiv(nblk + 1, bc), s.hkv), counts, starts, ptr, tiles, nblk, BC=bc, BR=br)
    launch(path, "inverse_fill", (tiles, s.hkv), idx, starts, inv, p.cu, p.T, p.B, nblk, **extra)
    for h in range(s.hkv):
        lists = []
        for a, z in ref.spans(s.lens):      # blocks are numbered as tiles: the last of a sequence may be empty
            for j in range(z // s.lsel - a // s.lsel + 1):
                lists.append([t for t in range(j * s.lsel, z - a) if j in idx[h, a + t].tolist()])
        equal(f"inverse_index.ptr ({s})", ptr[h], ref.prefix([len(x) for x in lists]))
        flat = torch.tensor([t for x in lists for t in x], dtype=torch.int32)
        equal(f"inverse_index.lists ({s} BT={bt})", inv[h, :len(flat)], flat)
        equal(f"inverse_index.rest ({s} BT={bt})", inv[h, len(flat):], torch.full_like(inv[h, len(flat):], -(1 << 30)))     # no program writes these
    return ptr, inv, nblk


def chunk_tokens(p):
    """Half of the mean of a list, down to a power of two."""
    return max(4, 1 << (p.shape.n * p.shape.lsel // 2).bit_length() - 1)


def chunk_count(p, nblk, chunk):
    """Of one key head, enough for any lists."""
    return p.T * p.shape.n // chunk + nblk


def selected_dkdv(p, inverse, lse, delta, chunk, br=8, also=None):
    """dk, dv and the scratch memory of their sums, whose unwritten elements stay NaN. `also`: the compressed branch's, as
    parts.compressed_dkdv() leaves them, are added up in the same launch."""
    s, (ptr, inv, nblk) = p.shape, inverse
    k, v, chunks = p.k[1], p.v[1], chunk_count(p, nblk, chunk)
    dk, dv = fresh(p.T, s.hkv, s.dim, dtype=s.dtype), fresh(p.T, s.hkv, s.vdim, dtype=s.dtype)
    part = fresh(s.hkv, chunks, s.lsel, s.dim + s.vdim)
    launch("nsa/select_bwd_dkdv.py", "select_bwd_dkdv", (s.hkv, chunks * cdiv(s.lsel, s.bn)), *rows(p.q, k, v, p.do, lse, delta), ptr, inv, part,
           *rows(dk, dv), p.cu, p.scale, p.T, p.B, nblk, G=s.group, LSEL=s.lsel, NSEL=s.n,
           CHUNK=chunk, **p.heads, **p.tiles)
    programs, heads = nblk * cdiv(s.lsel, br), dict(D=s.dim, DP=pow2(s.dim), E=s.vdim, EP=pow2(s.vdim), BR=br)
    if also:
        dkc, dvc, cpart, span = also
        launch("nsa/bwd_sum.py", "branch_bwd_sum", (s.hkv, programs + p.grid(br, len(dkc))[0]), part, ptr, *rows(dk, dv), cpart,
               *rows(dkc, dvc), p.cu, p.cu_cmp, p.scale, p.B, nblk, chunks, cpart.shape[2], LSEL=s.lsel, CHUNK=chunk, SPAN=span, **heads)
    else:
        launch("nsa/bwd_sum.py", "select_bwd_sum", (s.hkv, programs), part, ptr, *rows(dk, dv), p.cu, p.scale, p.B,
               nblk, chunks, LSEL=s.lsel, CHUNK=chunk, **heads)
    return dk, dv, part
