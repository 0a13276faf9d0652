# kernels/nsa/cmp_fwd.py - attention over compressed tokens, forward.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""o[t] = sum_i p[t, i] v[i] with p[t] = softmax(scale * q[t] k[i]) over the compressed tokens i with i*STRIDE + L <= t+1 (NSA, equations 7
and 8), by FlashAttention 2, algorithm 1. k [Tc, H, D] and v [Tc, H, E] have Tc compressed tokens; other shapes as in
kernels/attention/core.py. With STREAM a sequence may have any number of compressed tokens."""
import triton
import triton.language as tl
from kernels.attention.configs import FORWARD_CONFIGS
from kernels.attention.core import Pattern, Rows, Sizes
from kernels.attention.forward import forward
from kernels.attention.masks import compressed_keys, compressed_mask, compressed_queries, stream_sizes


# tessera: types("q k v o: Rows(*TYPE:16, i32:16, i32:16)", "lse: Rows(*fp32:16, i32, 1)", "CU CU_CMP: *i32:16", "scale: fp32", "nseq: i32")
# tessera: instance cmp_fwd_quick_f32(TYPE="fp32", G=3, L=16, STRIDE=8, D=32, DP=32, DT=0, E=32, EP=32, BM=64, BN=32)
# tessera: instance cmp_fwd_d64_f32(TYPE="fp32", G=4, L=32, STRIDE=16, D=64, DP=64, DT=0, E=64, EP=64, BM=64, BN=64)
# tessera: instance cmp_fwd_paper_bf16(TYPE="bf16", lse="Rows(*fp32:16, i32:16, 1)", G=16, L=32, STRIDE=16, D=192, DP=128, DT=64, E=128, EP=128, BM=64, BN=64)
# tessera: cpu(BM=64, BN=32)
# tessera: cpu(BM=32, BN=64)
# tessera: space(BM=[16, 32, 64, 128], BN=[16, 32, 64, 128], where=G <= BM and BM * BN <= 8192)
# tessera: grid(T // (BM // G) + B, H)
@triton.autotune(configs=FORWARD_CONFIGS, key=["G", "D", "E"])
@triton.jit(do_not_specialize=["nseq"])
def cmp_fwd(q: Rows, k: Rows, v: Rows, o: Rows, lse: Rows, CU, CU_CMP, scale, nseq, G: tl.constexpr, L: tl.constexpr, STRIDE: tl.constexpr,
            D: tl.constexpr, DP: tl.constexpr, DT: tl.constexpr, E: tl.constexpr, EP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
            STREAM: tl.constexpr = 0):
    """Computes o and lse of one tile of (token, head) rows of one KV head."""
    forward(q, k, v, o, lse, None, None, CU, nseq, scale,
            Pattern((L, STRIDE, CU_CMP if STREAM else None), compressed_mask, compressed_keys, compressed_queries,
                    load=stream_sizes if STREAM else None, causal=True, idle=True), Sizes(G, D, DP, DT, E, EP, BM, BN), 0, CU_CMP)
