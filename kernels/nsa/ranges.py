# kernels/nsa/ranges.py - selected blocks as merged half-open token ranges.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl
from kernels.tiles import find_tile


# tessera: types("IDX RANGES CU: *i32:16", "T nseq: i32")
# tessera: instance merge_ranges_quick(LSEL=32, NSEL=6, BT=32)
# tessera: instance merge_ranges_d64(LSEL=64, NSEL=16, BT=32)
# tessera: cpu(BT=64)
# tessera: space(BT=[16, 32, 64, 128, 256])
# tessera: grid(T // BT + B, H)
@triton.jit(do_not_specialize=["T", "nseq"])
def merge_ranges(IDX, RANGES, CU, T, nseq, LSEL: tl.constexpr, NSEL: tl.constexpr, BT: tl.constexpr):
    """Writes the token ranges of the blocks that BT tokens of one KV head selected: RANGES int32 [Hkv, T, NSEL, 2], half-open, ascending.
    Adjacent blocks j, j+1 join; no range ends after t+1; unused slots are [0, 0).

    Blocks come in any order. Negative numbers and blocks after the token's own are left out.
    """
    NONE: tl.constexpr = 2147483647
    _, start, length, t0 = find_tile(CU, nseq, tl.program_id(0), BT)
    group = tl.program_id(1).to(tl.int64)
    if t0 >= length:
        return
    rel = tl.arange(0, BT)
    t = t0 + rel
    live = t < length
    NP: tl.constexpr = triton.next_power_of_2(NSEL) if NSEL > 1 else 2
    slot = tl.arange(0, NP)
    blocks = IDX + (group * T + start + t0) * NSEL
    block = tl.load(blocks + (rel * NSEL)[:, None] + slot[None, :], mask=live[:, None] & (slot < NSEL)[None, :], other=-1)
    block = tl.sort(tl.where((block >= 0) & (block <= (t // LSEL)[:, None]), block, NONE))
    before = tl.gather(block, tl.broadcast_to(tl.maximum(slot - 1, 0)[None, :], (BT, NP)), 1)
    after = tl.gather(block, tl.broadcast_to(tl.minimum(slot + 1, NP - 1)[None, :], (BT, NP)), 1)
    begins = (slot == 0)[None, :] | (block > before + 1)
    ends = (slot == NP - 1)[None, :] | (after > block + 1)
    # Blocks ascend, so the i-th of those that begin a range and the i-th of those that end one are the i-th range.
    begin = tl.sort(tl.where((block != NONE) & begins, block, NONE))
    end = tl.sort(tl.where((block != NONE) & ends, block, NONE))
    begin = tl.where(begin == NONE, 0, begin) * LSEL
    end = tl.minimum((tl.where(end == NONE, -1, end) + 1) * LSEL, (t + 1)[:, None])
    pairs = tl.reshape(tl.join(begin, end), (BT, 2 * NP))
    col = tl.arange(0, 2 * NP)
    out = RANGES + (group * T + start + t0) * (2 * NSEL)
    tl.store(out + (rel * (2 * NSEL))[:, None] + col[None, :], pairs, mask=live[:, None] & (col < 2 * NSEL)[None, :])
