# kernels/nsa/select_fwd.py - attention over selected blocks, forward, one token at a time.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""o = softmax(scale * q k^T) v over the keys 0 .. t of the NSEL blocks of LSEL tokens that IDX [H, T, NSEL] lists for query t, each once and
-1 after the last (NSA, equations 11 and 12). Other shapes as in kernels/attention/core.py."""
import triton
import triton.language as tl
from kernels.attention.configs import TOKEN_CONFIGS
from kernels.attention.core import Pattern, Rows, Sizes, load_query_slices, no_keys, token_rows
from kernels.attention.forward import key_step, store_output
from kernels.attention.masks import bounded_mask
from kernels.tiles import find_tile


# tessera: types("q k v o: Rows(*TYPE:16, i32:16, i32:16)", "lse: Rows(*fp32:16, i32, 1)", "IDX CU: *i32:16", "scale: fp32", "T nseq: i32")
# tessera: instance select_fwd_quick_f32(TYPE="fp32", G=3, GP=4, LSEL=32, NSEL=6, D=32, DP=32, DT=0, E=32, EP=32, BN=32)
# tessera: instance select_fwd_d64_f32(TYPE="fp32", G=4, GP=4, LSEL=64, NSEL=16, D=64, DP=64, DT=0, E=64, EP=64, BN=64)
# tessera: instance select_fwd_paper_bf16(TYPE="bf16", lse="Rows(*fp32:16, i32:16, 1)", G=16, GP=16, LSEL=64, NSEL=16, D=192, DP=128, DT=64, E=128, EP=128, BN=64)
# tessera: cpu(BN=32)
# tessera: cpu(BN=64)
# tessera: space(BN=[16, 32, 64], where=BN <= LSEL)
# tessera: swap_ab
@triton.autotune(configs=TOKEN_CONFIGS, key=["G", "D", "E"])
@triton.jit(do_not_specialize=["T", "nseq"])
def select_fwd(q: Rows, k: Rows, v: Rows, IDX, o: Rows, lse: Rows, CU, scale, T, nseq, G: tl.constexpr, GP: tl.constexpr,
               LSEL: tl.constexpr, NSEL: tl.constexpr, D: tl.constexpr, DP: tl.constexpr, DT: tl.constexpr, E: tl.constexpr,
               EP: tl.constexpr, BN: tl.constexpr):
    """Computes o and lse of one token, all heads of one KV head; loads each selected block once for the group. For tests: it counts a
    repeated block repeatedly, while the other kernels of the branch count it once, in any order, and skip -1.

    Grid: (tiles(T, 1), Hkv).
    """
    _, start, length, t = find_tile(CU, nseq, tl.program_id(0), 1)
    group = tl.program_id(1).to(tl.int64)
    if t >= length:
        return
    tile = token_rows(start, length, t, group, G, GP)
    row = IDX + (group * T + start + t) * NSEL
    q1, q2 = load_query_slices(q, tile, Sizes(G, D, DP, DT, E, EP, GP, BN))
    state = no_keys(Sizes(G, D, DP, DT, E, EP, GP, BN))
    for r in range(0, NSEL):
        block = tl.load(row + r)                 # -1: no more, an empty range of keys
        bound = tl.minimum((block + 1) * LSEL, t + 1)
        for n in range(tl.maximum(block, 0) * LSEL, bound, BN):
            state = key_step((q1, q2, k, v, scale, None), state, tile, n, (bound,), Pattern((), bounded_mask, None, None, causal=True),
                             Sizes(G, D, DP, DT, E, EP, GP, BN), True)
    acc, peak, total = state
    store_output(o, lse, peak, total, acc, total, tile, Sizes(G, D, DP, DT, E, EP, GP, BN))
