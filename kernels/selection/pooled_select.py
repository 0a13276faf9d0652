# kernels/selection/pooled_select.py - selects blocks by the products of queries with pooled keys.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl
from kernels.selection.top_blocks import NOTHING, best_places, block_keys, keep_best, store_places
from kernels.tiles import find_tile, load_rows


@triton.jit
def head_sum(Q, base, rows, sqh, HEADS: tl.constexpr, SKIP: tl.constexpr, N: tl.constexpr, NP: tl.constexpr):
    """The sum of HEADS heads of queries, columns SKIP .. SKIP+N-1, in the type of the queries if it is one head and in fp32 otherwise."""
    if HEADS == 1:
        q = load_rows(Q + base + SKIP, rows, N, NP)
    else:
        q = tl.zeros((rows.shape[0], NP), tl.float32)
        for h in range(0, HEADS):
            q += load_rows(Q + base + h * sqh + SKIP, rows, N, NP).to(tl.float32)
    return q


# tessera: types("Q POOL: *TYPE:16", "IDX CU: *i32:16", "T nseq: i32", "s*: i32:16")
# tessera: instance pooled_select_d64_f32(TYPE="fp32", HEADS=1, SHARE=2, KEYS=1, BLOCK=64, TOP=16, W=16, FIRST=0, LOCAL=1, D=64, DP=64, DT=0, BT=32, BJ=16)
# tessera: instance pooled_select_d128_bf16(TYPE="bf16", HEADS=1, SHARE=8, KEYS=1, BLOCK=64, TOP=16, W=16, FIRST=0, LOCAL=1, D=128, DP=128, DT=0, BT=64, BJ=16)
# tessera: cpu(BT=32, BJ=16)
# tessera: space(BT=[16, 32, 64, 128])
# tessera: grid(T // BT + B, H)
@triton.autotune(
    configs=[
        triton.Config({"BT": 64, "BJ": 16}, num_warps=4, num_stages=2),
        triton.Config({"BT": 32, "BJ": 16}, num_warps=4, num_stages=2),
    ],
    key=["D", "TOP"],
)
@triton.jit(do_not_specialize=["T", "nseq"])
def pooled_select(Q, POOL, IDX, CU, T, nseq, sqt, sqh, spt, sph,
                  HEADS: tl.constexpr, SHARE: tl.constexpr, KEYS: tl.constexpr, BLOCK: tl.constexpr, TOP: tl.constexpr, W: tl.constexpr,
                  FIRST: tl.constexpr, LOCAL: tl.constexpr, D: tl.constexpr, DP: tl.constexpr, DT: tl.constexpr,
                  BT: tl.constexpr, BJ: tl.constexpr):
    """BT tokens of one list of selected blocks: IDX [lists, T, TOP] gets the TOP blocks with the highest score, ascending, then -1.

    The score of a block is the sum over the heads of the list of q . pooled key of the block. The list is the program's second id. It
    sums HEADS query heads of each of its KEYS key heads; SHARE lists use one key head (1 list for all heads: KEYS = Hkv, HEADS = G;
    one for each key head: HEADS = G; one for each query head: SHARE = G). The first FIRST blocks and the last LOCAL ones up to the
    token's own are forced: LOCAL >= 1, because the pooled key of the own block has later tokens in it. Order: score descending, then
    block ascending; NaN after every number.
    """
    tl.static_assert(LOCAL > 0, "the block of the query must be forced")
    tl.static_assert(W >= BJ and W >= TOP, "W holds TOP blocks and those of a step")
    tile = tl.num_programs(0) - 1 - tl.program_id(0)        # late tokens, which see most blocks, first
    sequence, start, length, t0 = find_tile(CU, nseq, tile, BT)
    if t0 >= length:
        return
    list_number = tl.program_id(1).to(tl.int64)
    key_head = list_number // SHARE * KEYS
    query_head = list_number * (KEYS * HEADS)
    rel = tl.minimum(tl.arange(0, BT), length - 1 - t0)
    own = (t0 + rel) // BLOCK
    token = (start + t0).to(tl.int64) * sqt
    blocks = POOL + (start // BLOCK + sequence).to(tl.int64) * spt
    last = (tl.minimum(t0 + BT, length) - 1) // BLOCK
    best = tl.full((BT, W), NOTHING, tl.int64)
    q = head_sum(Q, token + query_head * sqh, rel * sqt, sqh, HEADS, 0, D, DP)
    q2 = head_sum(Q, token + query_head * sqh, rel * sqt, sqh, HEADS, DP, D - DP, DT) if DT else None
    for j0 in range(0, last + 1, BJ):
        block = j0 + tl.arange(0, BJ)
        at = tl.minimum(block, last) * spt
        score = tl.zeros((BT, BJ), tl.float32)
        for head in range(0, KEYS):
            if KEYS > 1:                         # else the queries are loaded before the loop
                base = token + (query_head + head * HEADS) * sqh
                q = head_sum(Q, base, rel * sqt, sqh, HEADS, 0, D, DP)
                q2 = head_sum(Q, base, rel * sqt, sqh, HEADS, DP, D - DP, DT) if DT else None
            pooled = blocks + (key_head + head) * sph
            score = tl.dot(q, tl.trans(load_rows(pooled, at, D, DP)).to(q.dtype), score)
            if DT:
                score = tl.dot(q2, tl.trans(load_rows(pooled + DP, at, D - DP, DT)).to(q.dtype), score)
        place = tl.broadcast_to(block[None, :], (BT, BJ))
        best = keep_best(best, block_keys(score, place, block, own, FIRST, LOCAL), BJ, W, NOTHING)
    out = IDX + (list_number * T + start + t0 + rel) * TOP
    store_places(out, best_places(best, TOP, W), t0 + tl.arange(0, BT) < length, 1, TOP, W)
