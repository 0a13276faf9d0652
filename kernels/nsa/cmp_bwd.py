# kernels/nsa/cmp_bwd.py - attention over compressed tokens, backward: dq by query rows, dk and dv by key tiles.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""The gradients of cmp_fwd: p = exp(scale * q k^T - lse), ds = p * (do v^T - delta), dq = scale * ds k, dk = scale * ds^T q, dv = p^T do
(FlashAttention 2, algorithm 2). k and dk [Tc, H, D], v and dv [Tc, H, E]; other shapes as in kernels/attention/core.py. STREAM as in cmp_fwd."""
import triton
import triton.language as tl
from kernels.attention.backward_kv import key_columns, store_gradients, sum_queries
from kernels.attention.backward_q import backward_q
from kernels.attention.configs import DKDV_CONFIGS, DQ_CONFIGS
from kernels.attention.core import Pattern, Rows, Sizes
from kernels.attention.masks import compressed_keys, compressed_mask, compressed_queries, stream_sizes
from kernels.tiles import find_tile, part_count


# tessera: types("q k v do dq: Rows(*TYPE:16, i32:16, i32:16)", "lse delta: Rows(*fp32:16, i32, 1)", "CU CU_CMP: *i32:16", "scale: fp32", "nseq: i32")
# tessera: instance cmp_bwd_dq_quick_f32(TYPE="fp32", G=3, L=16, STRIDE=8, D=32, DP=32, DT=0, E=32, EP=32, BM=64, BN=32)
# tessera: instance cmp_bwd_dq_d64_f32(TYPE="fp32", G=4, L=32, STRIDE=16, D=64, DP=64, DT=0, E=64, EP=64, BM=64, BN=64)
# tessera: instance cmp_bwd_dq_paper_bf16(TYPE="bf16", lse="Rows(*fp32:16, i32:16, 1)", delta="Rows(*fp32:16, i32:16, 1)", G=16, L=32, STRIDE=16, D=192, DP=128, DT=64, E=128, EP=128, BM=64, BN=64)
# tessera: cpu(BM=64, BN=32)
# tessera: cpu(BM=32, BN=64)
# tessera: space(BM=[16, 32, 64, 128], BN=[16, 32, 64, 128], where=G <= BM and BM * BN <= 8192)
# tessera: grid(T // (BM // G) + B, H)
@triton.autotune(configs=DQ_CONFIGS, key=["G", "D", "E"])
@triton.jit(do_not_specialize=["nseq"])
def cmp_bwd_dq(q: Rows, k: Rows, v: Rows, do: Rows, lse: Rows, delta: Rows, dq: Rows, CU, CU_CMP, scale, nseq, G: tl.constexpr,
               L: tl.constexpr, STRIDE: tl.constexpr, D: tl.constexpr, DP: tl.constexpr, DT: tl.constexpr, E: tl.constexpr, EP: tl.constexpr,
               BM: tl.constexpr, BN: tl.constexpr, ACCUMULATE: tl.constexpr = 0, STREAM: tl.constexpr = 0):
    """Computes dq of one tile of (token, head) rows over the keys that the forward pass visits."""
    backward_q(q, k, v, do, lse, delta, dq, None, None, None, None, CU, nseq, scale,
               Pattern((L, STRIDE, CU_CMP if STREAM else None), compressed_mask, compressed_keys, compressed_queries,
                       load=stream_sizes if STREAM else None, causal=True, idle=True), Sizes(G, D, DP, DT, E, EP, BM, BN), 0, ACCUMULATE, CU_CMP)


# tessera: types("q k v do dk dv: Rows(*TYPE:16, i32:16, i32:16)", "lse delta: Rows(*fp32:16, i32, 1)", "PART: *fp32:16", "CU CU_CMP: *i32:16", "scale: fp32", "nseq parts: i32")
# tessera: instance cmp_bwd_dkdv_quick_f32(TYPE="fp32", G=3, L=16, STRIDE=8, SPAN=32, D=32, DP=32, DT=0, E=32, EP=32, BM=64, BN=32)
# tessera: instance cmp_bwd_dkdv_d64_f32(TYPE="fp32", G=4, L=32, STRIDE=16, SPAN=256, D=64, DP=64, DT=0, E=64, EP=64, BM=64, BN=64)
# tessera: instance cmp_bwd_dkdv_paper_bf16(TYPE="bf16", lse="Rows(*fp32:16, i32:16, 1)", delta="Rows(*fp32:16, i32:16, 1)", G=16, L=32, STRIDE=16, SPAN=256, D=192, DP=128, DT=64, E=128, EP=128, BM=64, BN=64)
# tessera: cpu(BM=64, BN=32)
# tessera: cpu(BM=32, BN=64)
# tessera: space(BM=[16, 32, 64, 128], BN=[16, 32, 64, 128], where=G <= BM and BM * BN <= 8192)
# tessera: grid(H, (TC // BN + B) * parts)
@triton.autotune(configs=DKDV_CONFIGS, key=["G", "D", "E"])
@triton.jit(do_not_specialize=["nseq", "parts"])
def cmp_bwd_dkdv(q: Rows, k: Rows, v: Rows, do: Rows, lse: Rows, delta: Rows, PART, dk: Rows, dv: Rows, CU, CU_CMP, scale, nseq, parts,
                 G: tl.constexpr, L: tl.constexpr, STRIDE: tl.constexpr, SPAN: tl.constexpr, D: tl.constexpr, DP: tl.constexpr,
                 DT: tl.constexpr, E: tl.constexpr, EP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, STREAM: tl.constexpr = 0):
    """Computes dk and dv of one tile of compressed tokens from a part of the query rows that see them, all heads of the group.

    Most tokens attend to the early keys, so a program with all queries of an early tile would take longest. The queries of a sequence are
    therefore split into min(cdiv(length, SPAN), parts) parts. One part writes dk and dv; several write fp32 sums without scale to PART [Tc,
    Hkv, parts, D + E], which cmp_bwd_sum adds. With parts = 1 PART is not used: pass any fp32 tensor.
    """
    tl.static_assert(BM // G > 0, "BM must hold all heads of a token")
    b, cmp_start, count, n = find_tile(CU_CMP, nseq, tl.program_id(1) // parts, BN)     # early keys, which most tokens see, first
    part = tl.program_id(1) % parts
    group = tl.program_id(0).to(tl.int64)
    start = tl.load(CU + b)
    length = tl.load(CU + b + 1) - start
    cut = part_count(length, parts, SPAN)
    if STREAM:
        cut = tl.maximum(cut, 1)                 # a sequence without tokens may have compressed ones
    if (n >= count) | (part >= cut):
        return
    first = n * STRIDE + L - 1                   # the first token that sees one of the keys
    early = n // 128 * 128 * STRIDE + L - 1      # of the largest tile: parts end where they do for all, so that their sums are alike
    share = (length - early + cut - 1) // cut
    begin = tl.maximum(early + part * share, first)
    end = tl.minimum(early + (part + 1) * share, length)
    columns = key_columns(k, v, cmp_start, count, n, group, Sizes(G, D, DP, DT, E, EP, BM, BN))
    sums = sum_queries((q, do, lse, delta, None, None, columns, scale), start, end, cmp_start, count, n, group, begin, begin, begin, end,
                       (L, STRIDE, None), Pattern((), compressed_mask, compressed_keys, compressed_queries, causal=True, idle=True),
                       Sizes(G, D, DP, DT, E, EP, BM, BN), 0)
    live = n + tl.arange(0, BN) < count
    if cut > 1:
        row = Rows(PART + part * (D + E), tl.num_programs(0) * parts * (D + E), parts * (D + E))
        store_gradients(row, row, cmp_start + n, group, sums, 1.0, live, D, Sizes(G, D, DP, DT, E, EP, BM, BN))
    else:
        store_gradients(dk, dv, cmp_start + n, group, sums, scale, live, 0, Sizes(G, D, DP, DT, E, EP, BM, BN))
