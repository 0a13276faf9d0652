# kernels/dense/attn_bwd_fused.py - causal flash attention, backward in one pass.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""dq, dk and dv by kernels/attention/backward.py: dk and dv are fp32, [shares, T, H, width], and the caller adds the shares. `shares` is
the number of programs along the third axis."""
import triton
import triton.language as tl
from kernels.attention.backward import backward
from kernels.attention.core import Pattern, Rows, Sizes
from kernels.attention.masks import causal_keys, causal_mask, causal_queries


# tessera: types("q k v do dq: Rows(*TYPE:16, i32:16, i32:16)", "lse delta: Rows(*fp32:16, i32, 1)", "dk dv: Rows(*fp32:16, i32:16, i32:16)", "CU: *i32:16", "scale: fp32", "T shares: i32")
# tessera: instance dense_bwd_quick_f32(TYPE="fp32", G=3, D=32, DP=32, E=32, EP=32, BM=64, BN=32)
# tessera: instance dense_bwd_d64_f32(TYPE="fp32", G=4, D=64, DP=64, E=64, EP=64, BM=64, BN=32)
# tessera: cpu(BM=64, BN=128)
# tessera: cpu(BM=128, BN=128)
# tessera: space(BM=[32, 64, 128, 256], BN=[32, 64, 128, 256], where=G <= BM and BM * BN <= 16384)
# tessera: grid(H, B, shares)
@triton.jit(do_not_specialize=["T", "shares"])
def dense_bwd(q: Rows, k: Rows, v: Rows, do: Rows, lse: Rows, delta: Rows, dq: Rows, dk: Rows, dv: Rows, CU, scale, T, shares,
              G: tl.constexpr, D: tl.constexpr, DP: tl.constexpr, E: tl.constexpr, EP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """Computes dq of every `shares`-th tile of queries of a sequence and KV head, and what these queries add to dk and dv. Computes each
    score once."""
    backward(q, k, v, do, lse, delta, dq, dk, dv, None, None, None, None, CU, T, shares, scale,
             Pattern((0,), causal_mask, causal_keys, causal_queries, causal=True, idle=True), Sizes(G, D, DP, 0, E, EP, BM, BN), 0)
