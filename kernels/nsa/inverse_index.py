# kernels/nsa/inverse_index.py - for every selection block the ascending list of tokens that selected it.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl
from kernels.tiles import find_tile


# tessera: types("IDX COUNT CU: *i32:16", "T nseq nblk: i32")
# tessera: instance inverse_count_quick(LSEL=32, NSEL=6, NP=8, BT=32)
# tessera: instance inverse_count_d64(LSEL=64, NSEL=16, NP=16, BT=32)
# tessera: cpu(BT=64)
# tessera: space(BT=[16, 32, 64, 128, 256])
@triton.jit(do_not_specialize=["T", "nblk", "nseq"])
def inverse_count(IDX, COUNT, CU, T, nseq, nblk, LSEL: tl.constexpr, NSEL: tl.constexpr, NP: tl.constexpr,
                  BT: tl.constexpr):
    """One block of one KV head: how many tokens selected it. Only tokens at or after its start can. An empty block has none."""
    _, start, length, first = find_tile(CU, nseq, tl.program_id(0), LSEL)
    block = first // LSEL
    group = tl.program_id(1).to(tl.int64)
    slot = tl.arange(0, NP)
    rel = tl.arange(0, BT)
    found = tl.zeros((BT,), tl.int32)
    for t0 in range(first, length, BT):
        row = IDX + (group * T + start + t0) * NSEL
        live = (t0 + rel < length)[:, None] & (slot < NSEL)[None, :]
        picks = tl.load(row + (rel * NSEL)[:, None] + slot[None, :], mask=live, other=-1)
        found += tl.max(tl.where(picks == block, 1, 0), 1)
    tl.store(COUNT + group * nblk + tl.program_id(0), tl.sum(found, 0))


# tessera: instance inverse_offsets(COUNT="*i32:16", PTR="*i32:16", nblk="i32", BT=32)
# tessera: cpu(BT=32)
# tessera: space(BT=[16, 32, 64, 128])
@triton.jit(do_not_specialize=["nblk"])
def inverse_offsets(COUNT, PTR, nblk, BT: tl.constexpr):
    """One KV head: exclusive prefix sums of the counts; PTR has one entry more than there are blocks."""
    group = tl.program_id(0).to(tl.int64)
    count = COUNT + group * nblk
    ptr = PTR + group * (nblk + 1)
    rel = tl.arange(0, BT)
    done = tl.sum(tl.zeros((BT,), tl.int32), 0)
    for j0 in range(0, nblk, BT):
        c = tl.load(count + j0 + rel, mask=j0 + rel < nblk, other=0)
        before = tl.sum(tl.where(rel[:, None] < rel[None, :], c[:, None], 0), 0)
        tl.store(ptr + j0 + rel, done + before, mask=j0 + rel < nblk)
        done += tl.sum(c, 0)
    tl.store(ptr + nblk, done)


# tessera: types("IDX PTR INV CU: *i32:16", "T nseq nblk: i32")
# tessera: instance inverse_fill_quick(LSEL=32, NSEL=6, NP=8, BT=32)
# tessera: instance inverse_fill_d64(LSEL=64, NSEL=16, NP=16, BT=32)
# tessera: cpu(BT=32)
# tessera: space(BT=[16, 32, 64, 128])
@triton.jit(do_not_specialize=["T", "nblk", "nseq"])
def inverse_fill(IDX, PTR, INV, CU, T, nseq, nblk, LSEL: tl.constexpr, NSEL: tl.constexpr, NP: tl.constexpr,
                 BT: tl.constexpr):
    """One block of one KV head: writes its tokens in ascending order, a token's place is the number before it."""
    _, start, length, first = find_tile(CU, nseq, tl.program_id(0), LSEL)
    block = first // LSEL
    group = tl.program_id(1).to(tl.int64)
    if first >= length:
        return
    slot = tl.arange(0, NP)
    rel = tl.arange(0, BT)
    at = tl.load(PTR + group * (nblk + 1) + tl.program_id(0))
    out = INV + group * T * NSEL
    for t0 in range(first, length, BT):
        row = IDX + (group * T + start + t0) * NSEL
        live = (t0 + rel < length)[:, None] & (slot < NSEL)[None, :]
        picks = tl.load(row + (rel * NSEL)[:, None] + slot[None, :], mask=live, other=-1)
        hit = tl.max(tl.where(picks == block, 1, 0), 1)
        before = tl.sum(tl.where(rel[:, None] < rel[None, :], hit[:, None], 0), 0)
        tl.store(out + at + before, t0 + rel, mask=hit > 0)
        at += tl.sum(hit, 0)
