# kernels/nsa/select_bwd_dkdv.py - attention over selected blocks, dk and dv: chunks of the tokens that selected a block.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""dk = scale * ds^T q and dv = p^T do with p = exp(scale * q k^T - lse), ds = p * (do v^T - delta) over the tokens that selected a key's block
(FlashAttention 2, algorithm 2). PTR [H, nblk + 1] and INV [H, T * NSEL] are the inverse index (inverse_index.py), PART is that of bwd_sum.py;
other shapes as in kernels/attention/core.py."""
import triton
import triton.language as tl
from kernels.attention.configs import DKDV_CONFIGS
from kernels.attention.core import Pattern, Rows, Sizes
from kernels.attention.listed_bwd import backward_kv_lists
from kernels.attention.masks import listed_mask, picked_mask


# tessera: types("q k v do dk dv: Rows(*TYPE:16, i32:16, i32:16)", "lse delta: Rows(*fp32:16, i32, 1)", "PART: *fp32:16", "PTR INV CU: *i32:16", "scale: fp32", "T nseq nblk: i32")
# tessera: instance select_bwd_dkdv_quick_f32(TYPE="fp32", G=3, LSEL=32, NSEL=6, CHUNK=64, D=32, DP=32, DT=0, E=32, EP=32, BM=64, BN=32)
# tessera: instance select_bwd_dkdv_d64_f32(TYPE="fp32", G=4, LSEL=64, NSEL=16, CHUNK=512, D=64, DP=64, DT=0, E=64, EP=64, BM=64, BN=64)
# tessera: instance select_bwd_dkdv_paper_bf16(TYPE="bf16", lse="Rows(*fp32:16, i32:16, 1)", delta="Rows(*fp32:16, i32:16, 1)", G=16, LSEL=64, NSEL=16, CHUNK=512, D=192, DP=128, DT=64, E=128, EP=128, BM=64, BN=64)
# tessera: cpu(BM=64, BN=32)
# tessera: cpu(BM=32, BN=64)
# tessera: space(BM=[16, 32, 64, 128], BN=[16, 32, 64], where=G <= BM and BN <= LSEL)
# tessera: grid(H, (T * NSEL // CHUNK + nblk) * cdiv(LSEL, BN))
@triton.autotune(configs=DKDV_CONFIGS, key=["G", "D", "E"])
@triton.jit(do_not_specialize=["T", "nblk", "nseq"])
def select_bwd_dkdv(q: Rows, k: Rows, v: Rows, do: Rows, lse: Rows, delta: Rows, PTR, INV, PART, dk: Rows, dv: Rows, CU, scale, T, nseq, nblk,
                    G: tl.constexpr, LSEL: tl.constexpr, NSEL: tl.constexpr, CHUNK: tl.constexpr, D: tl.constexpr, DP: tl.constexpr,
                    DT: tl.constexpr, E: tl.constexpr, EP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, SHARE: tl.constexpr = 1,
                    HIDDEN: tl.constexpr = 0, SUB: tl.constexpr = 0):
    """Computes dk and dv of up to BN keys of a block from up to CHUNK tokens of its inverse list (see backward_kv_lists), and zeros for
    unselected blocks.

    chunks = T * NSEL // CHUNK + nblk. Lists of more than CHUNK tokens write PART fp32 [Hkv, chunks, LSEL, D + E], which select_bwd_sum
    adds; only sequences longer than CHUNK need it.
    """
    backward_kv_lists(q, k, v, do, lse, delta, PTR, INV, PART, dk, dv, None, CU, T, nseq, nblk, scale,
                      Pattern((), picked_mask if SUB else listed_mask, None, None, causal=True, idle=True),
                      Sizes(G, D, DP, DT, E, EP, BM, BN), LSEL, NSEL, CHUNK, SHARE, HIDDEN, SUB)
