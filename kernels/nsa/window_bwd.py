# kernels/nsa/window_bwd.py - sliding-window attention, backward: dq by query rows, dk and dv by key tiles.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl
from kernels.attention.backward_kv import backward_kv
from kernels.attention.backward_q import backward_q
from kernels.attention.core import Pattern, Rows, Sizes
from kernels.attention.masks import window_keys, window_mask, window_queries


# tessera: types("Q K V DO DQ: *TYPE:16", "LSE DELTA: *fp32:16", "CU: *i32:16", "scale: fp32", "nseq slset sdeltat: i32", "slseh sdeltah: 1", "s*: i32:16")
# tessera: instance window_bwd_dq_quick_f32(TYPE="fp32", G=3, W=64, D=32, DP=32, DT=0, E=32, EP=32, BM=64, BN=32)
# tessera: instance window_bwd_dq_d64_f32(TYPE="fp32", G=4, W=512, D=64, DP=64, DT=0, E=64, EP=64, BM=64, BN=64)
# tessera: instance window_bwd_dq_paper_bf16(TYPE="bf16", slset="i32:16", sdeltat="i32:16", G=16, W=512, D=192, DP=128, DT=64, E=128, EP=128, BM=64, BN=64)
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
def window_bwd_dq(Q, K, V, DO, LSE, DELTA, DQ, CU, scale, nseq, sqt, sqh, skt, skh, svt, svh, sdot, sdoh, sdqt, sdqh,
                  slset, slseh, sdeltat, sdeltah,
                  G: tl.constexpr, W: tl.constexpr, D: tl.constexpr, DP: tl.constexpr, DT: tl.constexpr,
                  E: tl.constexpr, EP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
                  ACCUMULATE: tl.constexpr = 0):
    """dq of one tile of (token, head) rows; visits the keys that the forward pass visits."""
    backward_q(Rows(Q, sqt, sqh), Rows(K, skt, skh), Rows(V, svt, svh), Rows(DO, sdot, sdoh), Rows(LSE, slset, slseh),
               Rows(DELTA, sdeltat, sdeltah), Rows(DQ, sdqt, sdqh), None, None, None, None, CU, nseq, scale,
               Pattern((W,), window_mask, window_keys, window_queries, causal=True, idle=True),
               Sizes(G, D, DP, DT, E, EP, BM, BN), 0, ACCUMULATE)


# tessera: types("Q K V DO DK DV: *TYPE:16", "LSE DELTA: *fp32:16", "CU: *i32:16", "scale: fp32", "nseq slset sdeltat: i32", "slseh sdeltah: 1", "s*: i32:16")
# tessera: instance window_bwd_dkdv_quick_f32(TYPE="fp32", G=3, W=64, D=32, DP=32, DT=0, E=32, EP=32, BM=64, BN=32)
# tessera: instance window_bwd_dkdv_d64_f32(TYPE="fp32", G=4, W=512, D=64, DP=64, DT=0, E=64, EP=64, BM=64, BN=64)
# tessera: instance window_bwd_dkdv_paper_bf16(TYPE="bf16", slset="i32:16", sdeltat="i32:16", G=16, W=512, D=192, DP=128, DT=64, E=128, EP=128, BM=64, BN=64)
# tessera: cpu(BM=64, BN=32)
# tessera: cpu(BM=32, BN=64)
# tessera: space(BM=[16, 32, 64, 128], BN=[16, 32, 64, 128], where=G <= BM and BM * BN <= 8192)
# tessera: grid(H, T // BN + B)
@triton.autotune(
    configs=[
        triton.Config({"BM": 32, "BN": 64}, num_warps=4, num_stages=2),
        triton.Config({"BM": 64, "BN": 64}, num_warps=8, num_stages=1),
        triton.Config({"BM": 64, "BN": 64}, num_warps=4, num_stages=1),
        triton.Config({"BM": 64, "BN": 32}, num_warps=4, num_stages=2),
    ],
    key=["G", "D", "E"],
)
@triton.jit(do_not_specialize=["nseq"])
def window_bwd_dkdv(Q, K, V, DO, LSE, DELTA, DK, DV, CU, scale, nseq, sqt, sqh, skt, skh, svt, svh, sdot, sdoh,
                    sdkt, sdkh, sdvt, sdvh, slset, slseh, sdeltat, sdeltah,
                    G: tl.constexpr, W: tl.constexpr, D: tl.constexpr, DP: tl.constexpr, DT: tl.constexpr,
                    E: tl.constexpr, EP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """dk and dv of one tile of keys; visits the query rows that attend to them, all heads of the group."""
    backward_kv(Rows(Q, sqt, sqh), Rows(K, skt, skh), Rows(V, svt, svh), Rows(DO, sdot, sdoh), Rows(LSE, slset, slseh),
                Rows(DELTA, sdeltat, sdeltah), Rows(DK, sdkt, sdkh), Rows(DV, sdvt, sdvh), None, None, CU, nseq, scale,
                Pattern((W,), window_mask, window_keys, window_queries, causal=True, idle=True),
                Sizes(G, D, DP, DT, E, EP, BM, BN), 0)
