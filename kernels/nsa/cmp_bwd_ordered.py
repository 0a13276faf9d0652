# kernels/nsa/cmp_bwd_ordered.py - attention over compressed tokens, backward in one pass on a GPU.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""The gradients of cmp_fwd by kernels/attention/backward_ordered.py. k and dk [Tc, H, D], v and dv [Tc, H, E]; other shapes as in
kernels/attention/core.py."""
import triton
import triton.language as tl
from kernels.attention.backward_kv import key_columns, store_gradients
from kernels.attention.backward_ordered import Turns, load_key_tile, take_ticket, visit_queries
from kernels.attention.configs import ORDERED_CONFIGS
from kernels.attention.core import Pattern, Rows, Sizes
from kernels.attention.masks import compressed_keys, compressed_mask, compressed_queries
from kernels.tiles import find_tile, part_count


# tessera: types("q k v do dk dv: Rows(*TYPE:16, i32:16, i32:16)", "dq: Rows(*fp32:16, i32:16, i32:16)", "lse delta: Rows(*fp32:16, i32, 1)", "PART: *fp32:16", "CU CU_CMP TICKET ADDED: *i32:16", "scale: fp32", "nseq tiles parts: i32")
# tessera: instance cmp_bwd_ordered_quick_f32(TYPE="fp32", G=3, L=16, STRIDE=8, SPAN=32, D=32, DP=32, DT=0, E=32, EP=32, BM=64, BN=32, ADD=0)
# tessera: instance cmp_bwd_ordered_d64_f32(TYPE="fp32", G=4, L=32, STRIDE=16, SPAN=256, D=64, DP=64, DT=0, E=64, EP=64, BM=64, BN=64, ADD=0)
# tessera: cpu(BM=64, BN=32)
# tessera: space(BM=[32, 64, 128], BN=[32, 64, 128], where=G <= BM and BM * BN <= 8192)
# tessera: constant_inputs
# tessera: grid(H, (TC // BN + B) * parts)
@triton.autotune(configs=ORDERED_CONFIGS, key=["G", "D", "E"])
@triton.jit(do_not_specialize=["nseq", "tiles", "parts"])
def cmp_bwd_ordered(q: Rows, k: Rows, v: Rows, do: Rows, lse: Rows, delta: Rows, PART, dq: Rows, dk: Rows, dv: Rows, CU, CU_CMP, TICKET, ADDED,
                    scale, nseq, tiles, parts, G: tl.constexpr, L: tl.constexpr, STRIDE: tl.constexpr, SPAN: tl.constexpr, D: tl.constexpr,
                    DP: tl.constexpr, DT: tl.constexpr, E: tl.constexpr, EP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
                    ADD: tl.constexpr = 0):
    """Computes dk and dv of one tile of compressed tokens and a part of the queries, as cmp_bwd_dkdv does, and adds their part of dq /
    scale to dq, fp32 [T, Hq, D]. Takes 16-bit heads with DT = 0. ADD=1 adds to dq. ADD=0 may leave dq of tokens
    without keys unwritten.

    TICKET and ADDED as in dense_bwd_ordered. Each part of the queries begins at the first token of a tile of queries.
    """
    BT: tl.constexpr = BM // G
    turns = Turns(TICKET, ADDED, tiles)
    ticket = take_ticket(turns)
    number = ticket // tl.num_programs(0)
    b, cmp_start, count, n = find_tile(CU_CMP, nseq, number // parts, BN)       # early keys, which most tokens see, first
    part = number % parts
    group = (ticket % tl.num_programs(0)).to(tl.int64)
    start = tl.load(CU + b)
    length = tl.load(CU + b + 1) - start
    cut = part_count(length, parts, SPAN)
    if (n >= count) | (part >= cut):
        return
    early = n // 128 * 128 * STRIDE + L - 1      # of the largest tile: parts end where they do for all, so that their sums are alike
    share = (length - early + cut - 1) // cut
    first = (early + part * share) // BT * BT
    past = tl.where(part + 1 < cut, (early + (part + 1) * share) // BT * BT, length)
    keys = load_key_tile(k, cmp_start, count, n, group, Sizes(G, D, DP, DT, E, EP, BM, BN))
    columns = key_columns(k, v, cmp_start, count, n, group, Sizes(G, D, DP, DT, E, EP, BM, BN))
    sums = visit_queries((q, do, dq, columns, scale), lse, delta, turns, keys, start, length, b, group, first, past, (L, STRIDE, None),
                         Pattern((), compressed_mask, compressed_keys, compressed_queries, causal=True, idle=True),
                         Sizes(G, D, DP, DT, E, EP, BM, BN), ADD)
    live = n + tl.arange(0, BN) < count
    if cut > 1:
        row = Rows(PART + part * (D + E), tl.num_programs(0) * parts * (D + E), parts * (D + E))
        store_gradients(row, row, cmp_start + n, group, sums, 1.0, live, D, Sizes(G, D, DP, DT, E, EP, BM, BN))
    else:
        store_gradients(dk, dv, cmp_start + n, group, sums, scale, live, 0, Sizes(G, D, DP, DT, E, EP, BM, BN))
