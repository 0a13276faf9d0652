# kernels/nsa/select_lists.py - for every tile of tokens the ascending list of the blocks that any of them selected.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""An entry of a list is int64: the number of a block in the lower half, and in the upper half bit i for the tile's token i if it selected the
block. IDX [H, T, NSEL]; LISTS [H, tiles, BT * NSEL] and COUNTS [H, tiles], whose tiles are those of find_tile. select_list_fwd and
select_list_bwd_dq read them."""
import triton
import triton.language as tl
from kernels.attention.core import Rows
from kernels.tiles import find_tile


@triton.jit
def list_entry(pair, tile, HIDDEN: tl.constexpr):
    """The block of an entry, and the newest key of it that each row of the tile attends to, [BM, 1]: -1 where its token did not select it."""
    chosen = ((pair >> 32).to(tl.int32) >> (tile.t - tile.first)) & 1
    return (pair & 0xffffffff).to(tl.int32), tl.where(chosen > 0, tile.t - HIDDEN if HIDDEN else tile.t, -1)[:, None]


@triton.jit
def keys_of_list(x, group, SHARE: tl.constexpr):
    """x such that head `group` is the KV head of list `group`; SHARE lists read one KV head."""
    return Rows(x.ptr + (group // SHARE - group) * x.head if SHARE > 1 else x.ptr, x.token, x.head)


# tessera: types("IDX COUNTS CU: *i32:16", "LISTS: *i64:16", "T nseq: i32")
# tessera: instance select_lists_quick(LSEL=32, NSEL=6, NP=8, BT=21, BTP=32)
# tessera: instance select_lists_d64(LSEL=64, NSEL=16, NP=16, BT=16, BTP=16)
# tessera: instance select_lists_paper(LSEL=64, NSEL=16, NP=16, BT=4, BTP=4)
@triton.autotune(configs=[triton.Config({}, num_warps=1)], key=["BT", "NSEL"])
@triton.jit(do_not_specialize=["T", "nseq"])
def select_lists(IDX, LISTS, COUNTS, CU, T, nseq, LSEL: tl.constexpr, NSEL: tl.constexpr, NP: tl.constexpr,
                 BT: tl.constexpr, BTP: tl.constexpr):
    """Lists for BT <= 32 tokens of one KV head each block that one of them selected, ascending; bit i of the upper half tells whether token
    i did. BTP is the next power of two of BT.

    Blocks that start after a token do not count for it, because it attends to none of their keys. Grid: (tiles(T, BT), Hkv).
    """
    tl.static_assert(BT <= 32, "a token has a bit in a word of 32")
    NONE: tl.constexpr = 2147483647
    tile = tl.program_id(0)
    _, start, length, t0 = find_tile(CU, nseq, tile, BT)
    group = tl.program_id(1).to(tl.int64)
    if t0 >= length:
        return
    token = tl.arange(0, BTP)
    slot = tl.arange(0, NP)
    live = token < tl.minimum(BT, length - t0)
    row = IDX + (group * T + start + t0) * NSEL
    picks = tl.load(row + (token * NSEL)[:, None] + slot[None, :],
                    mask=live[:, None] & (slot[None, :] < NSEL), other=-1)
    own = (t0 + token) // LSEL
    picks = tl.where((picks >= 0) & (picks <= own[:, None]), picks, NONE)
    entry = group * tl.num_programs(0) + tile
    out = LISTS + entry * (BT * NSEL)
    count = tile * 0
    block = tl.min(tl.min(picks, 1), 0)
    while block != NONE:                         # the least that is left
        hit = tl.max(tl.where(picks == block, 1, 0), 1)          # of equal numbers of one token the first counts
        bits = tl.sum(hit << token, 0)
        tl.store(out + count, (bits.to(tl.int64) << 32) | block)
        picks = tl.where(picks == block, NONE, picks)
        count += 1
        block = tl.min(tl.min(picks, 1), 0)
    tl.store(COUNTS + entry, count)
