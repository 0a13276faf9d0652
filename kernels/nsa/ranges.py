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
    """BT tokens of one KV head: neighbours j, j+1 join; the last range ends at t+1; unused slots are [0, 0)."""
    _, start, length, t0 = find_tile(CU, nseq, tl.program_id(0), BT)
    group = tl.program_id(1).to(tl.int64)
    if t0 >= length:
        return
    rel = tl.arange(0, BT)
    t = t0 + rel
    live = t < length
    row = IDX + (group * T + start + t0) * NSEL
    out = RANGES + (group * T + start + t0) * (2 * NSEL)
    used = tl.zeros((BT,), tl.int32)                     # ranges written so far
    begin = tl.full((BT,), -1, tl.int32)                 # open range, in blocks; -1: none
    end = tl.full((BT,), -1, tl.int32)
    for r in range(0, NSEL + 1):
        block = tl.load(row + rel * NSEL + r, mask=live & (r < NSEL), other=-1)
        joins = (block >= 0) & (block == end)
        closes = (begin >= 0) & ((block < 0) | (block != end))
        at = out + rel * (2 * NSEL) + used * 2
        tl.store(at, begin * LSEL, mask=live & closes)
        tl.store(at + 1, tl.minimum(end * LSEL, t + 1), mask=live & closes)
        used += tl.where(closes, 1, 0)
        begin = tl.where(joins, begin, block)
        end = tl.where(block >= 0, block + 1, -1)
    zero = tl.zeros((BT,), tl.int32)
    for r in range(0, NSEL):
        at = out + rel * (2 * NSEL) + r * 2
        tl.store(at, zero, mask=live & (r >= used))
        tl.store(at + 1, zero, mask=live & (r >= used))
