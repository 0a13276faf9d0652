# kernels/selection/top_blocks.py - keeps the best blocks of each row while a kernel visits all blocks.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""A block has a key of 64 bits: its score in an order of integers in the upper half, and 2^31 - 1 - place in the lower half. The place is the
number of the block, or the position of a token inside it. So a larger key is a higher score, and of equal scores the earlier place. The
scorers in this folder and in kernels/nsa use it."""
import triton
import triton.language as tl

NOTHING = tl.constexpr(-(1 << 63))               # less than the key of every block
NAN = tl.constexpr(-(1 << 31))                   # the code of NaN, less than that of every number
FORCED = tl.constexpr((1 << 31) - 1)             # the code of a forced block, more than that of every number


@triton.jit
def block_keys(score, place, block, own, FIRST: tl.constexpr, LOCAL: tl.constexpr):
    """Keys [BT, BJ] from scores and places [BT, BJ] of blocks [BJ], for rows whose own block is own [BT]. The first FIRST blocks and the
    last LOCAL ones up to the own block are forced; blocks after the own one have the key NOTHING."""
    bits = score.to(tl.int32, bitcast=True)
    code = tl.where(score == score, bits ^ ((bits >> 31) & 0x7fffffff), NAN)
    code = tl.where((block[None, :] < FIRST) | (block[None, :] > own[:, None] - LOCAL), FORCED, code)
    key = (code.to(tl.int64) << 32) | (2147483647 - place).to(tl.int64)
    return tl.where(block[None, :] <= own[:, None], key, NOTHING)


@triton.jit
def keep_best(best, key, BJ: tl.constexpr, W: tl.constexpr, LEAST: tl.constexpr):
    """The W largest of best [BT, W], which descends, and key [BT, BJ], descending; BJ <= W. LEAST is not more than any of them.

    Of two sorted lists, one in the other order, the larger of each pair are the W largest of both.
    """
    key = tl.sort(key)
    if W > BJ:
        moved = tl.arange(0, BJ)[:, None] + (W - BJ) == tl.arange(0, W)[None, :]
        key = tl.max(tl.where(moved[None, :, :], key[:, :, None], LEAST), 1)
    return tl.sort(tl.maximum(best, key), descending=True)


@triton.jit
def best_places(best, TOP: tl.constexpr, W: tl.constexpr):
    """The places of the first TOP keys of best [BT, W], ascending, then 2^31 - 1."""
    NONE: tl.constexpr = 2147483647
    place = tl.where((best > NOTHING) & (tl.arange(0, W) < TOP)[None, :], NONE - best.to(tl.int32), NONE)
    return tl.sort(place)


@triton.jit
def store_places(out, place, live, SIZE: tl.constexpr, TOP: tl.constexpr, W: tl.constexpr):
    """Stores place // SIZE for the first TOP columns of place [BT, W] at out [BT], and -1 for a missing place, for live rows."""
    slot = tl.arange(0, W)
    tl.store(out[:, None] + slot[None, :], tl.where(place == 2147483647, -1, place // SIZE), mask=live[:, None] & (slot < TOP)[None, :])
