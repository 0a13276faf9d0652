# kernels/dense/attn_bwd.py - causal flash attention, backward: dq by query rows, dk and dv by key tiles.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""The gradients of dense_fwd: p = exp(scale * q k^T - lse), ds = p * (do v^T - delta), dq = scale * ds k, dk = scale * ds^T q, dv = p^T do
(FlashAttention 2, algorithm 2). Shapes as in kernels/attention/core.py; dq, dk and dv have those of q, k and v."""
import triton
import triton.language as tl
from kernels.attention.backward_kv import backward_kv
from kernels.attention.backward_q import backward_q
from kernels.attention.configs import DKDV_CONFIGS, DQ_CONFIGS
from kernels.attention.core import Pattern, Rows, Sizes
from kernels.attention.masks import causal_keys, causal_mask, causal_queries


# tessera: types("q k v do dq: Rows(*TYPE:16, i32:16, i32:16)", "lse delta: Rows(*fp32:16, i32, 1)", "CU: *i32:16", "scale: fp32", "nseq: i32")
# tessera: instance dense_bwd_dq_quick_f32(TYPE="fp32", G=3, D=32, DP=32, DT=0, E=32, EP=32, BM=64, BN=32)
# tessera: instance dense_bwd_dq_d64_f32(TYPE="fp32", G=4, D=64, DP=64, DT=0, E=64, EP=64, BM=64, BN=64)
# tessera: instance dense_bwd_dq_paper_bf16(TYPE="bf16", lse="Rows(*fp32:16, i32:16, 1)", delta="Rows(*fp32:16, i32:16, 1)", G=16, D=192, DP=128, DT=64, E=128, EP=128, BM=64, BN=64)
# tessera: cpu(BM=64, BN=32)
# tessera: cpu(BM=32, BN=64)
# tessera: space(BM=[16, 32, 64, 128], BN=[16, 32, 64, 128], where=G <= BM and BM * BN <= 8192)
# tessera: grid(T // (BM // G) + B, H)
@triton.autotune(configs=DQ_CONFIGS, key=["G", "D", "E"])
@triton.jit(do_not_specialize=["nseq"])
def dense_bwd_dq(q: Rows, k: Rows, v: Rows, do: Rows, lse: Rows, delta: Rows, dq: Rows, CU, scale, nseq, G: tl.constexpr,
                 D: tl.constexpr, DP: tl.constexpr, DT: tl.constexpr, E: tl.constexpr, EP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """Computes dq of one tile of (token, head) rows over the keys that the forward pass visits."""
    backward_q(q, k, v, do, lse, delta, dq, None, None, None, None, CU, nseq, scale,
               Pattern((), causal_mask, causal_keys, causal_queries, causal=True, idle=True), Sizes(G, D, DP, DT, E, EP, BM, BN), 0)


# tessera: types("q k v do dk dv: Rows(*TYPE:16, i32:16, i32:16)", "lse delta: Rows(*fp32:16, i32, 1)", "CU: *i32:16", "scale: fp32", "nseq: i32")
# tessera: instance dense_bwd_dkdv_quick_f32(TYPE="fp32", G=3, D=32, DP=32, DT=0, E=32, EP=32, BM=64, BN=32)
# tessera: instance dense_bwd_dkdv_d64_f32(TYPE="fp32", G=4, D=64, DP=64, DT=0, E=64, EP=64, BM=64, BN=64)
# tessera: instance dense_bwd_dkdv_paper_bf16(TYPE="bf16", lse="Rows(*fp32:16, i32:16, 1)", delta="Rows(*fp32:16, i32:16, 1)", G=16, D=192, DP=128, DT=64, E=128, EP=128, BM=64, BN=64)
# tessera: cpu(BM=64, BN=32)
# tessera: cpu(BM=32, BN=64)
# tessera: space(BM=[16, 32, 64, 128], BN=[16, 32, 64, 128], where=G <= BM and BM * BN <= 8192)
# tessera: grid(H, T // BN + B)
@triton.autotune(configs=DKDV_CONFIGS, key=["G", "D", "E"])
@triton.jit(do_not_specialize=["nseq"])
def dense_bwd_dkdv(q: Rows, k: Rows, v: Rows, do: Rows, lse: Rows, delta: Rows, dk: Rows, dv: Rows, CU, scale, nseq, G: tl.constexpr,
                   D: tl.constexpr, DP: tl.constexpr, DT: tl.constexpr, E: tl.constexpr, EP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """dk and dv of one tile of keys; visits the query rows that attend to them, all heads of the group."""
    backward_kv(q, k, v, do, lse, delta, dk, dv, None, None, CU, nseq, scale,
                Pattern((), causal_mask, causal_keys, causal_queries, causal=True, idle=True), Sizes(G, D, DP, DT, E, EP, BM, BN), 0)
