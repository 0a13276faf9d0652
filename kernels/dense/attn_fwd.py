# kernels/dense/attn_fwd.py - causal flash attention, forward.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""o = softmax(scale * q k^T) v over the keys 0 .. t of query t (FlashAttention 2, algorithm 1). Shapes as in kernels/attention/core.py."""
import triton
import triton.language as tl
from kernels.attention.configs import FORWARD_CONFIGS
from kernels.attention.core import Pattern, Rows, Sizes
from kernels.attention.forward import forward
from kernels.attention.masks import causal_keys, causal_mask, causal_queries


# Hints: docs/language/syntax.md. T tokens, B sequences, H key/value heads.
# tessera: types("q k v o: Rows(*TYPE:16, i32:16, i32:16)", "lse: Rows(*fp32:16, i32, 1)", "CU: *i32:16", "scale: fp32", "nseq: i32")
# tessera: instance dense_fwd_quick_f32(TYPE="fp32", G=3, D=32, DP=32, DT=0, E=32, EP=32, BM=64, BN=32)
# tessera: instance dense_fwd_d64_f32(TYPE="fp32", G=4, D=64, DP=64, DT=0, E=64, EP=64, BM=64, BN=64)
# tessera: instance dense_fwd_paper_bf16(TYPE="bf16", lse="Rows(*fp32:16, i32:16, 1)", G=16, D=192, DP=128, DT=64, E=128, EP=128, BM=64, BN=64)
# tessera: cpu(BM=64, BN=32)
# tessera: cpu(BM=32, BN=64)
# tessera: space(BM=[16, 32, 64, 128], BN=[16, 32, 64, 128], where=G <= BM and BM * BN <= 8192)
# tessera: grid(T // (BM // G) + B, H)
@triton.autotune(configs=FORWARD_CONFIGS, key=["G", "D", "E"])
@triton.jit(do_not_specialize=["nseq"])
def dense_fwd(q: Rows, k: Rows, v: Rows, o: Rows, lse: Rows, CU, scale, nseq, G: tl.constexpr, D: tl.constexpr, DP: tl.constexpr,
              DT: tl.constexpr, E: tl.constexpr, EP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """Computes o and lse of one tile of (token, head) rows of one KV head."""
    # Without sink and learned numbers. SPLIT is 0: on GPUs tessera-guard-masks skips the masks (docs/decisions/0018).
    forward(q, k, v, o, lse, None, None, CU, nseq, scale,
            Pattern((), causal_mask, causal_keys, causal_queries, causal=True, idle=True), Sizes(G, D, DP, DT, E, EP, BM, BN), 0)
