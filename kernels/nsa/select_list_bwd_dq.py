# kernels/nsa/select_list_bwd_dq.py - attention over selected blocks, dq, tiles of tokens that visit the list of their blocks.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""dq = scale * ds k with p = exp(scale * q k^T - lse), ds = p * (do v^T - delta) over the keys of select_list_fwd (FlashAttention 2,
algorithm 2). LISTS and COUNTS as in select_lists.py; other shapes as in kernels/attention/core.py."""
import triton
import triton.language as tl
from kernels.attention.core import Pattern, Rows, Sizes
from kernels.attention.listed_bwd import backward_q_lists
from kernels.attention.masks import listed_mask


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
    """Computes dq of one tile of (token, head) rows over the keys that the forward pass visits. SHARE as in select_list_fwd."""
    backward_q_lists(q, k, v, LISTS, COUNTS, do, lse, delta, dq, None, None, None, CU, nseq, scale,
                     Pattern((), listed_mask, None, None, causal=True), Sizes(G, D, DP, DT, E, EP, BM, BN), LSEL, NSEL, SHARE, ACCUMULATE, HIDDEN)
