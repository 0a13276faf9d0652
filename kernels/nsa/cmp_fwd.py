# kernels/nsa/cmp_fwd.py - attention over compressed tokens, forward.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl
from kernels.attention.core import Pattern, Rows, Sizes
from kernels.attention.forward import forward
from kernels.attention.masks import compressed_keys, compressed_mask, compressed_queries, stream_keys, stream_mask, stream_sizes


# tessera: types("Q K V O: *TYPE:16", "LSE: *fp32:16", "CU CU_CMP: *i32:16", "scale: fp32", "nseq slset: i32", "slseh: 1", "s*: i32:16")
# tessera: instance cmp_fwd_quick_f32(TYPE="fp32", G=3, L=16, STRIDE=8, D=32, DP=32, DT=0, E=32, EP=32, BM=64, BN=32)
# tessera: instance cmp_fwd_d64_f32(TYPE="fp32", G=4, L=32, STRIDE=16, D=64, DP=64, DT=0, E=64, EP=64, BM=64, BN=64)
# tessera: instance cmp_fwd_paper_bf16(TYPE="bf16", slset="i32:16", G=16, L=32, STRIDE=16, D=192, DP=128, DT=64, E=128, EP=128, BM=64, BN=64)
# tessera: cpu(BM=64, BN=32)
# tessera: cpu(BM=32, BN=64)
# tessera: space(BM=[16, 32, 64, 128], BN=[16, 32, 64, 128], where=G <= BM and BM * BN <= 8192)
# tessera: grid(T // (BM // G) + B, H)
@triton.autotune(
    configs=[
        triton.Config({"BM": 64, "BN": 64}, num_warps=4, num_stages=2),
        triton.Config({"BM": 128, "BN": 64}, num_warps=8, num_stages=2),
        triton.Config({"BM": 64, "BN": 32}, num_warps=4, num_stages=3),
    ],
    key=["G", "D", "E"],
)
@triton.jit(do_not_specialize=["nseq"])
def cmp_fwd(Q, K, V, O, LSE, CU, CU_CMP, scale, nseq, sqt, sqh, skt, skh, svt, svh, sot, soh, slset, slseh,
            G: tl.constexpr, L: tl.constexpr, STRIDE: tl.constexpr, D: tl.constexpr, DP: tl.constexpr, DT: tl.constexpr,
            E: tl.constexpr, EP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, STREAM: tl.constexpr = 0):
    """One tile of (token, head) rows of one KV head: query t attends compressed token i iff i*STRIDE + L <= t+1. With STREAM a sequence
    may have any number of compressed tokens."""
    forward(Rows(Q, sqt, sqh), Rows(K, skt, skh), Rows(V, svt, svh), Rows(O, sot, soh), Rows(LSE, slset, slseh), None, None, CU, nseq, scale,
            Pattern((L, STRIDE, CU_CMP) if STREAM else (L, STRIDE), stream_mask if STREAM else compressed_mask,
                    stream_keys if STREAM else compressed_keys, compressed_queries, load=stream_sizes if STREAM else None, causal=True, idle=True),
            Sizes(G, D, DP, DT, E, EP, BM, BN), 0, CU_CMP)
