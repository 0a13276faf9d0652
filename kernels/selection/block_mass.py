# kernels/selection/block_mass.py - the share of attention that each selected block receives.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl
from kernels.attention.core import LOG2E, Pattern, Rows, Sizes, load_query_slices, load_row_values, token_rows
from kernels.attention.listed_fwd import add_masses
from kernels.attention.masks import listed_mask
from kernels.tiles import find_tile


# tessera: types("Q K: *TYPE:16", "LSE MASS: *fp32:16", "IDX CU: *i32:16", "scale: fp32", "T nseq slset: i32", "slseh: 1", "s*: i32:16")
# tessera: instance block_mass_d64_f32(TYPE="fp32", HEADS=4, HP=4, SHARE=1, KEYS=1, BLOCK=64, TOP=16, D=64, DP=64, DT=0, BN=64)
# tessera: instance block_mass_d128_bf16(TYPE="bf16", slset="i32:16", HEADS=16, HP=16, SHARE=1, KEYS=1, BLOCK=64, TOP=16, D=128, DP=128, DT=0, BN=64)
# tessera: cpu(BN=32)
# tessera: space(BN=[16, 32, 64])
# tessera: swap_ab
# tessera: grid(T + B, H)
@triton.autotune(configs=[triton.Config({"BN": 64}, num_warps=4, num_stages=2), triton.Config({"BN": 32}, num_warps=2, num_stages=3)],
                 key=["D", "TOP"])
@triton.jit(do_not_specialize=["T", "nseq"])
def block_mass(Q, K, LSE, IDX, MASS, CU, scale, T, nseq, sqt, sqh, skt, skh, slset, slseh,
               HEADS: tl.constexpr, HP: tl.constexpr, SHARE: tl.constexpr, KEYS: tl.constexpr, BLOCK: tl.constexpr, TOP: tl.constexpr,
               D: tl.constexpr, DP: tl.constexpr, DT: tl.constexpr, BN: tl.constexpr):
    """One token of one list of selected blocks: MASS [lists, T, TOP] gets, for each block of IDX, the mean over the heads of the list of
    the sum of exp(scale * q . k - lse) over the block's keys up to the token, and 0 for a
    number that does not name a block up to the token's own. The list's heads are those of pooled_select."""
    _, start, length, t = find_tile(CU, nseq, tl.program_id(0), 1)
    if t >= length:
        return
    list_number = tl.program_id(1).to(tl.int64)
    row = (list_number * T + start + t) * TOP
    for r in range(0, TOP):
        block = tl.load(IDX + row + r)
        block = tl.where((block >= 0) & (block <= t // BLOCK), block, -1)
        first = tl.maximum(block, 0) * BLOCK
        newest = tl.minimum(block * BLOCK + BLOCK - 1, t)    # -1: an empty range of keys
        total = tl.zeros((HP,), tl.float32)
        for head in range(0, KEYS):
            group = list_number // SHARE * KEYS + head
            base = Rows(Q + list_number * (KEYS * HEADS) * sqh + head * HEADS * sqh - group * HEADS * sqh, sqt, sqh)
            sums = Rows(LSE + list_number * (KEYS * HEADS) * slseh + head * HEADS * slseh - group * HEADS * slseh, slset, slseh)
            tile = token_rows(start, length, t, group, HEADS, HP)
            q, q2 = load_query_slices(base, tile, Sizes(HEADS, D, DP, DT, D, DP, HP, BN))
            lse = load_row_values(sums, tile, HEADS) * LOG2E
            total = add_masses(total, q, q2, Rows(K, skt, skh), tile, first, newest, scale, None, lse,
                               Pattern((), listed_mask, None, None, causal=True), Sizes(HEADS, D, DP, DT, D, DP, HP, BN))
        tl.store(MASS + row + r, tl.sum(total, 0) / (KEYS * HEADS))
