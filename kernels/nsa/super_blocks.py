# kernels/nsa/super_blocks.py - lists of small blocks as lists of larger ones, with a bit for each small block that is selected.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Matrix products take at least 16 keys: the passes over selected blocks visit super-blocks of PER blocks, and mask by the bits."""
import triton
import triton.language as tl
from kernels.nsa.inverse_index import later
from kernels.tiles import find_tile


# tessera: types("IDX SUPER BITS CU: *i32:16", "T nseq: i32")
# tessera: instance super_lists_quick(LSEL=4, PER=4, NSEL=6, NP=8, NOUT=6, BT=8)
# tessera: instance super_lists_tokens(LSEL=1, PER=16, NSEL=256, NP=256, NOUT=256, BT=1)
@triton.autotune(configs=[triton.Config({}, num_warps=4)], key=["NSEL"])
@triton.jit(do_not_specialize=["T", "nseq"])
def super_lists(IDX, SUPER, BITS, CU, T, nseq, LSEL: tl.constexpr, PER: tl.constexpr, NSEL: tl.constexpr, NP: tl.constexpr,
                NOUT: tl.constexpr, BT: tl.constexpr):
    """Writes for BT tokens of one list the super-blocks of their NSEL blocks of LSEL tokens (any order): SUPER int32 [lists, T, NOUT],
    ascending, -1 after the last, and BITS, bit i of which is set if the token selected block i of the super-block. Leaves out what
    pick_block leaves out.

    NP is a power of two, at least NSEL and 2; NOUT = min(NSEL, cdiv(longest sequence, LSEL * PER)). Grid: (tiles(T, BT), lists).
    """
    NONE: tl.constexpr = 2147483647
    _, start, length, t0 = find_tile(CU, nseq, tl.program_id(0), BT)
    group = tl.program_id(1).to(tl.int64)
    if t0 >= length:
        return
    rel = tl.arange(0, BT)
    slot = tl.arange(0, NP)
    live = t0 + rel < length
    row = group * T + start + t0
    picks = tl.load(IDX + row * NSEL + (rel * NSEL)[:, None] + slot[None, :], mask=live[:, None] & (slot < NSEL)[None, :], other=-1)
    picks = tl.sort(tl.where((picks >= 0) & (picks <= ((t0 + rel) // LSEL)[:, None]), picks, NONE))
    before = tl.gather(picks, tl.broadcast_to(tl.maximum(slot - 1, 0)[None, :], (BT, NP)), 1)
    first = (slot == 0)[None, :]
    counts = picks != NONE
    bit = tl.where(counts & (first | (picks != before)), 1 << (picks % PER), 0)
    upto = tl.cumsum(bit, 1)
    # Super-blocks and sums of bits ascend, so the i-th of those that begin a super-block come to place i.
    begins = counts & (first | (picks // PER != before // PER))
    numbers = tl.sort(tl.where(begins, picks // PER, NONE))
    sums = tl.sort(tl.where(begins, upto - bit, NONE))
    total = tl.max(upto, 1)[:, None]
    after = tl.gather(sums, tl.broadcast_to(tl.minimum(slot + 1, NP - 1)[None, :], (BT, NP)), 1)
    after = tl.where((after == NONE) | (slot == NP - 1)[None, :], total, after)
    mask = live[:, None] & (slot < NOUT)[None, :]
    out = (rel * NOUT)[:, None] + slot[None, :]
    tl.store(SUPER + row * NOUT + out, tl.where(numbers == NONE, -1, numbers), mask=mask)
    tl.store(BITS + row * NOUT + out, tl.where(numbers == NONE, 0, after - sums), mask=mask)


# tessera: types("SUPER BITS STARTS CU: *i32:16", "INV: *i64:16", "T nseq nblk: i32")
# tessera: instance inverse_fill_bits_quick(LSEL=16, NSEL=6, NP=8, BT=8)
# tessera: instance inverse_fill_bits_tokens(LSEL=16, NSEL=256, NP=256, BT=8)
@triton.autotune(configs=[triton.Config({}, num_warps=4)], key=["BT", "NSEL"])
@triton.jit(do_not_specialize=["T", "nblk", "nseq"])
def inverse_fill_bits(SUPER, BITS, STARTS, INV, CU, T, nseq, nblk, LSEL: tl.constexpr, NSEL: tl.constexpr, NP: tl.constexpr,
                      BT: tl.constexpr):
    """Does what inverse_fill does for super-blocks of LSEL tokens: an entry of INV, int64 [lists, T * NSEL], has the token in its lower
    half and the bits in the upper half.

    Grid: (tiles(T, BT), lists).
    """
    NONE: tl.constexpr = 2147483647
    WIDE: tl.constexpr = BT * NP
    b, start, length, t0 = find_tile(CU, nseq, tl.program_id(0), BT)
    group = tl.program_id(1).to(tl.int64)
    rel = tl.arange(0, BT)
    slot = tl.arange(0, NP)
    lists = (group * T + start + t0) * NSEL
    picks = tl.load(SUPER + lists + (rel * NSEL)[:, None] + slot[None, :], mask=(t0 + rel < length)[:, None] & (slot < NSEL)[None, :], other=-1)
    key = tl.sort(tl.reshape(tl.where(picks >= 0, picks * WIDE + rel[:, None] * NP + slot[None, :], NONE), (WIDE,)))
    live = key != NONE                           # a list names a super-block once
    place = tl.arange(0, WIDE)
    before = tl.where(place > 0, tl.gather(key, tl.maximum(place - 1, 0), 0), -1)
    first = before // WIDE != key // WIDE        # the first entry of all has place 0 without it
    rank = place - tl.associative_scan(tl.where(first, place, 0), 0, later)
    block = start // LSEL + b + key // WIDE
    at = tl.load(STARTS + (group * tl.num_programs(0) + tl.program_id(0)) * nblk + block, mask=live, other=0)
    token = key % WIDE // NP
    bits = tl.load(BITS + lists + token * NSEL + key % NP, mask=live, other=0)
    tl.store(INV + group * T * NSEL + at + rank, (bits.to(tl.int64) << 32) | (t0 + token), mask=live)
