# kernels/nsa/select_list_bwd_dq.py - attention over selected blocks, dq, tiles of tokens that visit the list of their blocks.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""dq = scale * ds k with p = exp(scale * q k^T - lse), ds = p * (do v^T - delta) over the keys of select_list_fwd (FlashAttention 2,
algorithm 2). LISTS and COUNTS as in select_lists.py; other shapes as in kernels/attention/core.py."""
import triton
import triton.language as tl
from kernels.attention.backward_q import key_step, store_dq
from kernels.attention.core import LOG2E, Pattern, Rows, Sizes, load_queries, load_row_values, query_tile, zero_slices
from kernels.attention.masks import listed_mask
from kernels.nsa.select_lists import keys_of_list, list_entry
from kernels.tiles import find_tile


# tessera: types("q k v do dq: Rows(*TYPE:16, i32:16, i32:16)", "lse delta: Rows(*fp32:16, i32, 1)", "LISTS: *i64:16", "COUNTS CU: *i32:16", "scale: fp32", "nseq: i32")
# tessera: instance select_list_bwd_dq_quick_f32(TYPE="fp32", G=3, LSEL=32, NSEL=6, D=32, DP=32, DT=0, E=32, EP=32, BM=64, BN=32)
# tessera: instance select_list_bwd_dq_d64_f32(TYPE="fp32", G=4, LSEL=64, NSEL=16, D=64, DP=64, DT=0, E=64, EP=64, BM=64, BN=32)
# tessera: instance select_list_bwd_dq_paper_bf16(TYPE="bf16", lse="Rows(*fp32:16, i32:16, 1)", delta="Rows(*fp32:16, i32:16, 1)", G=16, LSEL=64, NSEL=16, D=192, DP=128, DT=64, E=128, EP=128, BM=32, BN=32)
# tessera: cpu(BM=64, BN=32)
# tessera: space(BN=[16, 32, 64, 128], where=BM * BN <= 8192)
# tessera: grid(T // (BM // G) + B, H)
@triton.autotune(configs=[triton.Config({"BN": keys}, num_warps=warps, num_stages=stages) for keys, warps, stages in [(32, 2, 2), (64, 4, 1), (64, 8, 1), (32, 4, 2)]],
                 key=["G", "D", "E"])
@triton.jit(do_not_specialize=["nseq"])
def select_list_bwd_dq(q: Rows, k: Rows, v: Rows, LISTS, COUNTS, do: Rows, lse: Rows, delta: Rows, dq: Rows, CU, scale, nseq, G: tl.constexpr,
                       LSEL: tl.constexpr, NSEL: tl.constexpr, D: tl.constexpr, DP: tl.constexpr, DT: tl.constexpr, E: tl.constexpr,
                       EP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, ACCUMULATE: tl.constexpr = 0, SHARE: tl.constexpr = 1,
                       HIDDEN: tl.constexpr = 0):
    """dq of one tile of (token, head) rows; visits the keys that the forward pass visits. SHARE as in select_list_fwd."""
    BT: tl.constexpr = BM // G                   # whole tokens; the last BM % G rows of a tile are idle
    STEPS: tl.constexpr = (LSEL + BN - 1) // BN  # of a block
    tl.static_assert(BT > 0, "BM must hold all heads of a token")
    tl.static_assert(BT <= 32, "a token has a bit in a word of 32: BM must be smaller")
    number = tl.num_programs(0) - 1 - tl.program_id(0)      # late tokens, which see most keys, first
    _, start, length, first = find_tile(CU, nseq, number, BT)
    group = tl.program_id(1).to(tl.int64)
    if first >= length:
        return
    tile = query_tile(start, length, first, group, start, length, G, BM, True)
    q1 = load_queries(q, tile, G, 0, D, DP)
    q2 = load_queries(q, tile, G, DP, D - DP, DT) if DT else None
    do1 = load_queries(do, tile, G, 0, E, EP)
    total = load_row_values(lse, tile, G) * LOG2E
    change = load_row_values(delta, tile, G)
    sum1, sum2 = zero_slices(BM, Sizes(G, D, DP, DT, E, EP, BM, BN))
    entry = group * tl.num_programs(0) + number
    entries = LISTS + entry * (BT * NSEL)
    steps = tl.load(COUNTS + entry) * STEPS
    pair = tl.load(entries, mask=steps > 0, other=0)
    for i in range(0, steps):
        ahead = tl.load(entries + (i + 1) // STEPS, mask=i + 1 < steps, other=0)
        block, newest = list_entry(pair, tile, HIDDEN)
        sum1, sum2, unused = key_step(q1, q2, do1, keys_of_list(k, group, SHARE), keys_of_list(v, group, SHARE), tile, block * LSEL + i % STEPS * BN,
                                      scale, None, total, change, sum1, sum2, 0.0, (newest, (block + 1) * LSEL if LSEL % BN else None),
                                      Pattern((), listed_mask, None, None, causal=True), Sizes(G, D, DP, DT, E, EP, BM, BN), True)
        pair = ahead
    store_dq(dq, sum1 * scale, sum2 * scale, tile, Sizes(G, D, DP, DT, E, EP, BM, BN), ACCUMULATE)
