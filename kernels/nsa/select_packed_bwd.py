# kernels/nsa/select_packed_bwd.py - attention over selected blocks, dq, from keys and values packed by blocks.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""The formula of select_bwd_dq. Its three products have few rows and read their right operands as pack_keys (select_packed_fwd.py) writes
them: KT [H, tiles, DP + DT, LP] and VT [H, tiles, EP, LP] as columns for the scores and for do v^T, KP [H, tiles, LP, KW] row by row for dq.
IDX [H, T, NSEL], other shapes as in kernels/attention/core.py."""
import triton
import triton.language as tl
from kernels.attention.backward_q import load_query_rows, store_dq
from kernels.attention.configs import TOKEN_CONFIGS
from kernels.attention.core import LOG2E, Rows, Sizes, token_rows, zero_slices
from kernels.nsa.select_packed_fwd import load_part, packed_products, picked_keys
from kernels.tiles import find_tile


# tessera: types("q do dq: Rows(*TYPE:16, i32:16, i32:16)", "lse delta: Rows(*fp32:16, i32, 1)", "KT KP VT: *TYPE:16", "IDX CU: *i32:16", "scale: fp32", "T nseq tiles: i32")
# tessera: instance select_packed_bwd_dq_quick_f32(TYPE="fp32", G=3, GP=4, LSEL=32, LP=32, NSEL=6, D=32, DP=32, DT=0, KW=32, E=32, EP=32, BN=32)
# tessera: instance select_packed_bwd_dq_d64_f32(TYPE="fp32", G=4, GP=4, LSEL=64, LP=64, NSEL=16, D=64, DP=64, DT=0, KW=64, E=64, EP=64, BN=64)
# tessera: instance select_packed_bwd_dq_paper_bf16(TYPE="bf16", lse="Rows(*fp32:16, i32:16, 1)", delta="Rows(*fp32:16, i32:16, 1)", G=16, GP=16, LSEL=64, LP=64, NSEL=16, D=192, DP=128, DT=64, KW=256, E=128, EP=128, BN=64)
# tessera: cpu(BN=64)
# tessera: cpu(BN=32)
# tessera: space(BN=[16, 32, 64], where=BN <= LP)
# tessera: grid(T + B, H)
# tessera: swap_ab
@triton.autotune(configs=TOKEN_CONFIGS, key=["G", "D", "E"])
@triton.jit(do_not_specialize=["T", "nseq", "tiles"])
def select_packed_bwd_dq(q: Rows, KT, KP, VT, IDX, do: Rows, lse: Rows, delta: Rows, dq: Rows, CU, scale, T, nseq, tiles, G: tl.constexpr,
                         GP: tl.constexpr, LSEL: tl.constexpr, LP: tl.constexpr, NSEL: tl.constexpr, D: tl.constexpr, DP: tl.constexpr,
                         DT: tl.constexpr, KW: tl.constexpr, E: tl.constexpr, EP: tl.constexpr, BN: tl.constexpr,
                         ACCUMULATE: tl.constexpr = 0, SHARE: tl.constexpr = 1, HIDDEN: tl.constexpr = 0):
    """Computes dq of one token, all heads of one list; SHARE and HIDDEN as in select_packed_fwd. KW is the next power of two of D. The
    CPU's default."""
    sequence, start, length, t = find_tile(CU, nseq, tl.program_id(0), 1)
    group = tl.program_id(1).to(tl.int64)
    if t >= length:
        return
    tile = token_rows(start, length, t, group, G, GP)
    row = IDX + (group * T + start + t) * NSEL
    rows = load_query_rows(q, do, lse, delta, None, None, tile, Sizes(G, D, DP, DT, E, EP, GP, BN))
    sum1, sum2 = zero_slices(GP, Sizes(G, D, DP, DT, E, EP, GP, BN))
    STEP: tl.constexpr = BN if BN < LP else LP   # a step stays inside of its block
    first = (group // SHARE if SHARE > 1 else group) * tiles + start // LSEL + sequence      # the first block of the sequence
    for r in range(0, NSEL):
        block, bound = picked_keys(row, r, t, LSEL, NSEL, HIDDEN)
        for n in range(0, bound, STEP):
            s = packed_products(rows.q, rows.q2, KT + (first + block) * ((DP + DT) * LP), n, LP, STEP, Sizes(G, D, DP, DT, E, EP, GP, BN))
            p = tl.where((n + tl.arange(0, STEP) < bound)[None, :], tl.exp2(s * (scale * LOG2E) - rows.total[:, None]), 0.0)
            ds = p * (tl.dot(rows.do, load_part(VT + (first + block) * (EP * LP), n, 0, LP, EP, STEP)) - rows.delta[:, None])
            keys = KP + (first + block) * (LP * KW)
            k = load_part(keys, 0, n, KW, STEP, DP)
            sum1 = tl.dot(ds.to(k.dtype), k, sum1)
            if DT:
                sum2 = tl.dot(ds.to(k.dtype), load_part(keys, DP, n, KW, STEP, DT), sum2)
    store_dq(dq, sum1 * scale, sum2 * scale, tile, Sizes(G, D, DP, DT, E, EP, GP, BN), ACCUMULATE)
