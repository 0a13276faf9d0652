# kernels/nsa/cmp_bwd.py - attention over compressed tokens, backward: dq by query rows, dk and dv by key tiles.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl
from kernels.attention.backward_kv import store_key_rows, sum_queries
from kernels.attention.backward_q import backward_q
from kernels.attention.core import Pattern, Rows, Sizes
from kernels.attention.masks import compressed_keys, compressed_mask, compressed_queries, stream_keys, stream_mask, stream_sizes
from kernels.tiles import find_tile, part_count


# tessera: types("Q K V DO DQ: *TYPE:16", "LSE DELTA: *fp32:16", "CU CU_CMP: *i32:16", "scale: fp32", "nseq slset sdeltat: i32", "slseh sdeltah: 1", "s*: i32:16")
# tessera: instance cmp_bwd_dq_quick_f32(TYPE="fp32", G=3, L=16, STRIDE=8, D=32, DP=32, DT=0, E=32, EP=32, BM=64, BN=32)
# tessera: instance cmp_bwd_dq_d64_f32(TYPE="fp32", G=4, L=32, STRIDE=16, D=64, DP=64, DT=0, E=64, EP=64, BM=64, BN=64)
# tessera: instance cmp_bwd_dq_paper_bf16(TYPE="bf16", slset="i32:16", sdeltat="i32:16", G=16, L=32, STRIDE=16, D=192, DP=128, DT=64, E=128, EP=128, BM=64, BN=64)
# tessera: cpu(BM=64, BN=32)
# tessera: cpu(BM=32, BN=64)
# tessera: space(BM=[16, 32, 64, 128], BN=[16, 32, 64, 128], where=G <= BM and BM * BN <= 8192)
# tessera: grid(T // (BM // G) + B, H)
@triton.autotune(
    configs=[
        triton.Config({"BM": 128, "BN": 32}, num_warps=4, num_stages=1),
        triton.Config({"BM": 64, "BN": 64}, num_warps=4, num_stages=1),
        triton.Config({"BM": 64, "BN": 64}, num_warps=8, num_stages=2),
        triton.Config({"BM": 64, "BN": 32}, num_warps=4, num_stages=2),
        triton.Config({"BM": 32, "BN": 64}, num_warps=4, num_stages=2),
    ],
    key=["G", "D", "E"],
)
@triton.jit(do_not_specialize=["nseq"])
def cmp_bwd_dq(Q, K, V, DO, LSE, DELTA, DQ, CU, CU_CMP, scale, nseq, sqt, sqh, skt, skh, svt, svh, sdot, sdoh, sdqt, sdqh,
               slset, slseh, sdeltat, sdeltah,
               G: tl.constexpr, L: tl.constexpr, STRIDE: tl.constexpr, D: tl.constexpr, DP: tl.constexpr, DT: tl.constexpr,
               E: tl.constexpr, EP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
               ACCUMULATE: tl.constexpr = 0, STREAM: tl.constexpr = 0):
    """dq of one tile of (token, head) rows; visits the keys that the forward pass visits. STREAM as in cmp_fwd."""
    backward_q(Rows(Q, sqt, sqh), Rows(K, skt, skh), Rows(V, svt, svh), Rows(DO, sdot, sdoh), Rows(LSE, slset, slseh),
               Rows(DELTA, sdeltat, sdeltah), Rows(DQ, sdqt, sdqh), None, None, None, None, CU, nseq, scale,
               Pattern((L, STRIDE, CU_CMP) if STREAM else (L, STRIDE), stream_mask if STREAM else compressed_mask,
                       stream_keys if STREAM else compressed_keys, compressed_queries, load=stream_sizes if STREAM else None, causal=True, idle=True),
               Sizes(G, D, DP, DT, E, EP, BM, BN), 0, ACCUMULATE, CU_CMP)


# tessera: types("Q K V DO DK DV: *TYPE:16", "LSE DELTA PART: *fp32:16", "CU CU_CMP: *i32:16", "scale: fp32", "nseq parts slset sdeltat: i32", "slseh sdeltah: 1", "s*: i32:16")
# tessera: instance cmp_bwd_dkdv_quick_f32(TYPE="fp32", G=3, L=16, STRIDE=8, SPAN=32, D=32, DP=32, DT=0, E=32, EP=32, BM=64, BN=32)
# tessera: instance cmp_bwd_dkdv_d64_f32(TYPE="fp32", G=4, L=32, STRIDE=16, SPAN=256, D=64, DP=64, DT=0, E=64, EP=64, BM=64, BN=64)
# tessera: instance cmp_bwd_dkdv_paper_bf16(TYPE="bf16", slset="i32:16", sdeltat="i32:16", G=16, L=32, STRIDE=16, SPAN=256, D=192, DP=128, DT=64, E=128, EP=128, BM=64, BN=64)
# tessera: cpu(BM=64, BN=32)
# tessera: cpu(BM=32, BN=64)
# tessera: space(BM=[16, 32, 64, 128], BN=[16, 32, 64, 128], where=G <= BM and BM * BN <= 8192)
# tessera: grid(H, (TC // BN + B) * parts)
@triton.autotune(
    configs=[
        triton.Config({"BM": 32, "BN": 64}, num_warps=4, num_stages=2),
        triton.Config({"BM": 64, "BN": 64}, num_warps=8, num_stages=1),
        triton.Config({"BM": 64, "BN": 64}, num_warps=4, num_stages=1),
        triton.Config({"BM": 64, "BN": 32}, num_warps=4, num_stages=2),
    ],
    key=["G", "D", "E"],
)
@triton.jit(do_not_specialize=["nseq", "parts"])
def cmp_bwd_dkdv(Q, K, V, DO, LSE, DELTA, PART, DK, DV, CU, CU_CMP, scale, nseq, parts, sqt, sqh, skt, skh, svt, svh, sdot, sdoh,
                 sdkt, sdkh, sdvt, sdvh, slset, slseh, sdeltat, sdeltah,
                 G: tl.constexpr, L: tl.constexpr, STRIDE: tl.constexpr, SPAN: tl.constexpr, D: tl.constexpr, DP: tl.constexpr,
                 DT: tl.constexpr, E: tl.constexpr, EP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, STREAM: tl.constexpr = 0):
    """dk and dv of one tile of compressed tokens; walks a part of the query rows that can see them, all heads of the group.

    Early keys are seen by most tokens, so that programs of whole tiles end late. A sequence has a part for every SPAN of its tokens,
    at most `parts`; with one part dk and dv are written, else sums for cmp_bwd_sum, in fp32 and not yet scaled.
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
    dk, dk2, dv = sum_queries(Rows(Q, sqt, sqh), Rows(K, skt, skh), Rows(V, svt, svh), Rows(DO, sdot, sdoh), Rows(LSE, slset, slseh),
                              Rows(DELTA, sdeltat, sdeltah), None, None, start, end, cmp_start, count, n, group, begin, begin, begin, end,
                              scale, (L, STRIDE),
                              Pattern((L, STRIDE), compressed_mask, compressed_keys, compressed_queries, causal=True, idle=True),
                              Sizes(G, D, DP, DT, E, EP, BM, BN), 0)
    live = n + tl.arange(0, BN) < count
    if cut > 1:
        step = tl.num_programs(0) * parts * (D + E)
        sums = Rows(PART + part * (D + E), step, parts * (D + E))
        store_key_rows(sums, cmp_start + n, group, dk, dk2, live, 0, D, DP, DT)
        store_key_rows(sums, cmp_start + n, group, dv, None, live, D, E, EP, 0)
    else:
        store_key_rows(Rows(DK, sdkt, sdkh), cmp_start + n, group, dk * scale, dk2 * scale, live, 0, D, DP, DT)
        store_key_rows(Rows(DV, sdvt, sdvh), cmp_start + n, group, dv, None, live, 0, E, EP, 0)
