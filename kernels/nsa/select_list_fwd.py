# kernels/nsa/select_list_fwd.py - attention over selected blocks, forward, tiles of tokens that visit the list of their blocks.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""o = softmax(scale * q k^T) v over the keys 0 .. t - HIDDEN of the blocks that query t selected (NSA, equation 12). LISTS and COUNTS as in
select_lists.py; other shapes as in kernels/attention/core.py."""
import triton
import triton.language as tl
from kernels.attention.core import Pattern, Rows, Sizes
from kernels.attention.listed_fwd import forward_lists
from kernels.attention.masks import listed_mask


# tessera: types("q k v o: Rows(*TYPE:16, i32:16, i32:16)", "lse: Rows(*fp32:16, i32, 1)", "LISTS: *i64:16", "COUNTS CU: *i32:16", "scale: fp32", "nseq: i32")
# tessera: instance select_list_fwd_quick_f32(TYPE="fp32", G=3, LSEL=32, NSEL=6, D=32, DP=32, DT=0, E=32, EP=32, BM=64, BN=32)
# tessera: instance select_list_fwd_d64_f32(TYPE="fp32", G=4, LSEL=64, NSEL=16, D=64, DP=64, DT=0, E=64, EP=64, BM=64, BN=64)
# tessera: instance select_list_fwd_paper_bf16(TYPE="bf16", lse="Rows(*fp32:16, i32:16, 1)", G=16, LSEL=64, NSEL=16, D=192, DP=128, DT=64, E=128, EP=128, BM=32, BN=64)
# tessera: cpu(BM=64, BN=32)
# tessera: space(BN=[16, 32, 64, 128], where=BM * BN <= 8192)
# tessera: grid(T // (BM // G) + B, H)
@triton.autotune(configs=[triton.Config({"BN": keys}, num_warps=warps, num_stages=stages) for keys, warps, stages in [(64, 4, 2), (64, 2, 2), (32, 4, 3)]],
                 key=["G", "D", "E"])
@triton.jit(do_not_specialize=["nseq"])
def select_list_fwd(q: Rows, k: Rows, v: Rows, LISTS, COUNTS, o: Rows, lse: Rows, CU, scale, nseq, G: tl.constexpr, LSEL: tl.constexpr,
                    NSEL: tl.constexpr, D: tl.constexpr, DP: tl.constexpr, DT: tl.constexpr, E: tl.constexpr, EP: tl.constexpr,
                    BM: tl.constexpr, BN: tl.constexpr, SHARE: tl.constexpr = 1, HIDDEN: tl.constexpr = 0):
    """Computes o and lse of one tile of (token, head) rows of one list, BM // G <= 32 tokens; loads each block once for all rows. SHARE
    lists read the keys of one KV head. A NaN or infinity among a block's values reaches all rows of the tiles that list the block."""
    forward_lists(q, k, v, LISTS, COUNTS, o, lse, None, CU, nseq, scale, Pattern((), listed_mask, None, None, causal=True),
                  Sizes(G, D, DP, DT, E, EP, BM, BN), LSEL, NSEL, SHARE, HIDDEN)
