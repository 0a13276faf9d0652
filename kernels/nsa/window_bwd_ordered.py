# kernels/nsa/window_bwd_ordered.py - sliding-window attention, backward in one pass on a GPU.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""The gradients of window_fwd by kernels/attention/backward_ordered.py. Shapes as in kernels/attention/core.py; dk and dv have those of k and v."""
import triton
import triton.language as tl
from kernels.attention.backward_ordered import Turns, backward_ordered
from kernels.attention.configs import ORDERED_CONFIGS
from kernels.attention.core import Pattern, Rows, Sizes
from kernels.attention.masks import window_keys, window_mask, window_queries


# tessera: types("q k v do dk dv: Rows(*TYPE:16, i32:16, i32:16)", "dq: Rows(*fp32:16, i32:16, i32:16)", "lse delta: Rows(*fp32:16, i32, 1)", "CU TICKET ADDED: *i32:16", "scale: fp32", "nseq tiles: i32")
# tessera: instance window_bwd_ordered_quick_f32(TYPE="fp32", G=3, W=64, D=32, DP=32, DT=0, E=32, EP=32, BM=64, BN=32, ADD=0)
# tessera: instance window_bwd_ordered_d64_f32(TYPE="fp32", G=4, W=512, D=64, DP=64, DT=0, E=64, EP=64, BM=64, BN=64, ADD=0)
# tessera: cpu(BM=64, BN=32)
# tessera: space(BM=[32, 64, 128], BN=[32, 64, 128], where=G <= BM and BM * BN <= 8192)
# tessera: constant_inputs
# tessera: grid(H, T // BN + B)
@triton.autotune(configs=ORDERED_CONFIGS, key=["G", "D", "E"])
@triton.jit(do_not_specialize=["nseq", "tiles"])
def window_bwd_ordered(q: Rows, k: Rows, v: Rows, do: Rows, lse: Rows, delta: Rows, dq: Rows, dk: Rows, dv: Rows, CU, TICKET, ADDED, scale,
                       nseq, tiles, G: tl.constexpr, W: tl.constexpr, D: tl.constexpr, DP: tl.constexpr, DT: tl.constexpr, E: tl.constexpr,
                       EP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, ADD: tl.constexpr = 0):
    """Computes dk and dv of one tile of keys, and adds this tile's part of dq / scale to dq, fp32 [T, Hq, D]. Takes 16-bit heads with DT =
    0. ADD=1 adds to dq; ADD=0 needs a key for each token.

    TICKET and ADDED as in dense_bwd_ordered.
    """
    backward_ordered(q, k, v, do, lse, delta, dq, dk, dv, CU, Turns(TICKET, ADDED, tiles), scale, nseq,
                     Pattern((W,), window_mask, window_keys, window_queries, causal=True, idle=True), Sizes(G, D, DP, DT, E, EP, BM, BN), ADD)
