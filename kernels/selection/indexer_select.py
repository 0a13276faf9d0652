# kernels/selection/indexer_select.py - selects blocks by a learned indexer.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl
from kernels.selection.top_blocks import NOTHING, best_places, block_keys, keep_best, store_places
from kernels.tiles import find_tile, load_rows


@triton.jit
def newest_key(t, L: tl.constexpr, STRIDE: tl.constexpr):
    """The newest key that a query at position t may select; -1: none."""
    return tl.where(t + 1 >= L, (t + 1 - L) // STRIDE, -1)


# tessera: types("Q K: *TYPE:16", "WEIGHT: *fp32:16", "IDX TOKENS CU CUK: *i32:16", "T nseq swt swl: i32", "swh: 1", "s*: i32:16")
# tessera: instance indexer_select_d64_f32(TYPE="fp32", HEADS=4, BLOCK=64, BP=64, TOP=16, W=16, FIRST=0, LOCAL=1, D=64, DP=64, DT=0, BT=16, BJ=2)
# tessera: instance indexer_select_d64_bf16(TYPE="bf16", HEADS=4, BLOCK=64, BP=64, TOP=16, W=16, FIRST=0, LOCAL=1, D=64, DP=64, DT=0, BT=32, BJ=2)
# tessera: cpu(BT=32)
# tessera: space(BT=[16, 32, 64])
# tessera: grid(T // BT + B, H)
@triton.autotune(configs=[triton.Config({"BT": 32}, num_warps=4, num_stages=2), triton.Config({"BT": 64}, num_warps=4, num_stages=1)],
                 key=["D", "TOP"])
@triton.jit(do_not_specialize=["T", "nseq"])
def indexer_select(Q, K, WEIGHT, IDX, TOKENS, CU, CUK, T, nseq, sqt, sql, sqh, skt, swt, swl, swh,
                   HEADS: tl.constexpr, BLOCK: tl.constexpr, BP: tl.constexpr, TOP: tl.constexpr, W: tl.constexpr,
                   FIRST: tl.constexpr, LOCAL: tl.constexpr, D: tl.constexpr, DP: tl.constexpr, DT: tl.constexpr,
                   BJ: tl.constexpr, BT: tl.constexpr, L: tl.constexpr = 1, STRIDE: tl.constexpr = 1):
    """BT tokens of one list of selected blocks: IDX [lists, T, TOP] gets the TOP blocks with the highest score, ascending, then -1.

    Q is [T, lists, HEADS, D], K [keys, D] and WEIGHT [T, lists, HEADS]. Key s of a sequence, whose keys begin at CUK, belongs to the
    tokens s * STRIDE .. s * STRIDE + L - 1, and a query may select it from the last of these tokens on. The score of key s for token t is
    the sum over the heads of weight[t] * max(q[t] . k[s], 0) (DeepSeek-V3.2-Exp 2025, equation 1). A block is BLOCK keys, and its score
    the largest of its keys that t may select; TOKENS [lists, T, TOP] gets the number of that key, or -1. The first FIRST blocks and the
    last LOCAL ones up to the newest are forced. Order: score descending, then key ascending; NaN after every number. A step has BJ blocks of
    BP columns.
    """
    tl.static_assert(W >= BJ and W >= TOP, "W holds TOP blocks and those of a step")
    tile = tl.num_programs(0) - 1 - tl.program_id(0)        # late tokens, which see most blocks, first
    sequence, start, length, t0 = find_tile(CU, nseq, tile, BT)
    if t0 >= length:
        return
    list_number = tl.program_id(1).to(tl.int64)
    t = tl.minimum(t0 + tl.arange(0, BT), length - 1)
    token = (start + t0).to(tl.int64)
    first_key = tl.load(CUK + sequence)
    count = tl.load(CUK + sequence + 1) - first_key
    newest = tl.minimum(newest_key(t, L, STRIDE), count - 1)
    queries = Q + token * sqt + list_number * sql
    weights = WEIGHT + token * swt + list_number * swl
    column = tl.arange(0, BJ * BP)
    best = tl.full((BT, W), NOTHING, tl.int64)
    for j0 in range(0, (tl.max(newest, 0) + BLOCK) // BLOCK, BJ):
        pos = (j0 + column // BP) * BLOCK + column % BP
        at = tl.minimum(pos, count - 1)
        keys = K + first_key.to(tl.int64) * skt
        kt = tl.trans(load_rows(keys, at * skt, D, DP))
        kt2 = tl.trans(load_rows(keys + DP, at * skt, D - DP, DT)) if DT else None
        score = tl.zeros((BT, BJ * BP), tl.float32)
        for head in range(0, HEADS):
            s = tl.dot(load_rows(queries + head * sqh, (t - t0) * sqt, D, DP), kt)
            if DT:
                s = tl.dot(load_rows(queries + head * sqh + DP, (t - t0) * sqt, D - DP, DT), kt2, s)
            score += tl.load(weights + head * swh + (t - t0) * swt)[:, None] * tl.where(s < 0.0, 0.0, s)     # NaN stays
        score = tl.where(score == score, score, float("-inf"))          # a maximum has no order for NaN
        score = tl.where((column % BP < BLOCK)[None, :] & (pos[None, :] <= newest[:, None]), score, float("-inf"))
        score, offset = tl.max(tl.reshape(score, (BT, BJ, BP)), 2, return_indices=True)
        block = j0 + tl.arange(0, BJ)
        own = tl.where(newest < 0, -1, newest // BLOCK)
        best = keep_best(best, block_keys(score, block[None, :] * BLOCK + offset, block, own, FIRST, LOCAL), BJ, W, NOTHING)
    place = best_places(best, TOP, W)
    row = (list_number * T + start + t) * TOP
    live = t0 + tl.arange(0, BT) < length
    store_places(IDX + row, place, live, BLOCK, TOP, W)
    store_places(TOKENS + row, place, live, 1, TOP, W)
