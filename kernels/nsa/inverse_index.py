# kernels/nsa/inverse_index.py - for every selection block the ascending list of tokens that selected it: a counting sort by tiles.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl
from kernels.tiles import find_tile


@triton.jit
def later(a, b):
    return tl.maximum(a, b)


@triton.jit
def sorted_picks(IDX, CU, T, nseq, LSEL: tl.constexpr, NSEL: tl.constexpr, NP: tl.constexpr, BT: tl.constexpr):
    """The picks of the program's tile of BT tokens of one KV head, sorted by block, then token.

    Returns for each of BT * NP entries its block (of all sequences, numbered as tiles are), token, whether it counts, its place among the
    tile's tokens of the block, and whether it is the block's last entry. What does not count comes with a block's entries or at the end:
    -1, a block that starts behind its token, and a block that a token names twice.
    """
    NONE: tl.constexpr = 2147483647
    tl.static_assert(BT & (BT - 1) == 0 and NP & (NP - 1) == 0, "tiles are sorted: BT and NP must be powers of two")
    b, start, length, t0 = find_tile(CU, nseq, tl.program_id(0), BT)
    group = tl.program_id(1).to(tl.int64)
    rel = tl.arange(0, BT)
    slot = tl.arange(0, NP)
    picks = tl.load(IDX + (group * T + start + t0) * NSEL + (rel * NSEL)[:, None] + slot[None, :],
                    mask=(t0 + rel < length)[:, None] & (slot < NSEL)[None, :], other=-1)
    counts = (picks >= 0) & (picks <= ((t0 + rel) // LSEL)[:, None])
    # A sequence of up to 2^31 * l' / BT tokens.
    key = tl.sort(tl.reshape(tl.where(counts, picks * BT + rel[:, None], NONE), (BT * NP,)))
    place = tl.arange(0, BT * NP)
    before = tl.where(place > 0, tl.gather(key, tl.maximum(place - 1, 0), 0), -1)
    after = tl.where(place < BT * NP - 1, tl.gather(key, tl.minimum(place + 1, BT * NP - 1), 0), NONE)
    live = (key != NONE) & (key != before)
    upto = tl.cumsum(tl.where(live, 1, 0), 0)
    first = before // BT != key // BT            # the first entry of all has place 0 without it
    rank = upto - 1 - tl.associative_scan(tl.where(first, upto - 1, 0), 0, later)
    last = (key != NONE) & (after // BT != key // BT)
    return start // LSEL + b + key // BT, t0 + key % BT, live, rank, last


# tessera: types("IDX TILES CU: *i32:16", "T nseq nblk: i32")
# tessera: instance inverse_count_quick(LSEL=32, NSEL=6, NP=8, BT=128)
# tessera: instance inverse_count_d64(LSEL=64, NSEL=16, NP=16, BT=128)
@triton.autotune(configs=[triton.Config({}, num_warps=4)], key=["BT", "NSEL"])
@triton.jit(do_not_specialize=["T", "nblk", "nseq"])
def inverse_count(IDX, TILES, CU, T, nseq, nblk, LSEL: tl.constexpr, NSEL: tl.constexpr, NP: tl.constexpr,
                  BT: tl.constexpr):
    """Counts for a tile of BT tokens of one KV head how many of them selected each block: TILES int32 [Hkv, tiles(T, BT), nblk], scratch.
    Run inverse_count, inverse_prefix and inverse_fill in this order.

    Grid: (tiles(T, BT), Hkv).
    """
    row = tl.program_id(1).to(tl.int64) * tl.num_programs(0) + tl.program_id(0)
    col = tl.arange(0, BT * NP)
    for j in range(0, nblk, BT * NP):
        tl.store(TILES + row * nblk + j + col, tl.zeros((BT * NP,), tl.int32), mask=j + col < nblk)
    tl.debug_barrier()                           # blocks that none selected keep their zero
    block, _, _, rank, last = sorted_picks(IDX, CU, T, nseq, LSEL, NSEL, NP, BT)
    tl.store(TILES + row * nblk + block, rank + 1, mask=last)


# tessera: types("TILES STARTS PTR: *i32:16", "tiles nblk: i32")
# tessera: instance inverse_prefix(BC=64, BR=16)
# tessera: cpu(BC=64, BR=16)
# tessera: space(BC=[32, 64, 128], BR=[8, 16, 32])
# tessera: grid(cdiv(nblk + 1, BC), H)
@triton.autotune(configs=[triton.Config({"BC": 64, "BR": 16}, num_warps=4)], key=[])
@triton.jit(do_not_specialize=["tiles", "nblk"])
def inverse_prefix(TILES, STARTS, PTR, tiles, nblk, BC: tl.constexpr, BR: tl.constexpr):
    """Computes for BC blocks of one KV head where their lists begin, PTR int32 [Hkv, nblk + 1] (prefix sums), and where in them the tokens
    of each tile begin, STARTS int32 [Hkv, tiles(T, BT), nblk], scratch.

    A program sums the counts of all blocks before its own, which costs less than another launch while there are few.
    """
    group = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BC
    row = tl.arange(0, BR)
    col = tl.arange(0, BC)
    own = first + col
    counts = TILES + group * tiles * nblk
    before = tl.zeros((BR, BC), tl.int32)
    total = tl.zeros((BC,), tl.int32)
    for r in range(0, tiles, BR):
        here = counts + (r + row).to(tl.int64)[:, None] * nblk + col[None, :]
        live = (r + row < tiles)[:, None]
        for c in range(0, first, BC):
            before += tl.load(here + c, mask=live, other=0)
        total += tl.sum(tl.load(here + first, mask=live & (own < nblk)[None, :], other=0), 0)
    start = tl.sum(tl.sum(before, 1), 0) + tl.cumsum(total, 0) - total
    tl.store(PTR + group * (nblk + 1) + own, start, mask=own <= nblk)
    for r in range(0, tiles, BR):
        at = (group * tiles + r + row.to(tl.int64))[:, None] * nblk + own[None, :]
        live = (r + row < tiles)[:, None] & (own < nblk)[None, :]
        x = tl.load(TILES + at, mask=live, other=0)
        tl.store(STARTS + at, start[None, :] + tl.cumsum(x, 0) - x, mask=live)
        start += tl.sum(x, 0)


# tessera: types("IDX STARTS INV CU: *i32:16", "T nseq nblk: i32")
# tessera: instance inverse_fill_quick(LSEL=32, NSEL=6, NP=8, BT=128)
# tessera: instance inverse_fill_d64(LSEL=64, NSEL=16, NP=16, BT=128)
@triton.autotune(configs=[triton.Config({}, num_warps=4)], key=["BT", "NSEL"])
@triton.jit(do_not_specialize=["T", "nblk", "nseq"])
def inverse_fill(IDX, STARTS, INV, CU, T, nseq, nblk, LSEL: tl.constexpr, NSEL: tl.constexpr, NP: tl.constexpr,
                 BT: tl.constexpr):
    """Writes the tokens of a tile of one KV head to the lists of their blocks, INV int32 [Hkv, T * NSEL], after those of earlier tiles. So
    the positions in a list ascend.

    Grid: (tiles(T, BT), Hkv).
    """
    block, token, live, rank, _ = sorted_picks(IDX, CU, T, nseq, LSEL, NSEL, NP, BT)
    group = tl.program_id(1).to(tl.int64)
    row = group * tl.num_programs(0) + tl.program_id(0)
    at = tl.load(STARTS + row * nblk + block, mask=live, other=0)
    tl.store(INV + group * T * NSEL + at + rank, token, mask=live)
