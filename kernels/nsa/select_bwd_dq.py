# kernels/nsa/select_bwd_dq.py - attention over selected blocks, dq, one token at a time.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl
from kernels.attention.backward_q import key_step, store_dq
from kernels.attention.core import LOG2E, Pattern, Rows, Sizes, load_queries, load_row_values, token_rows
from kernels.attention.masks import bounded_mask
from kernels.tiles import find_tile


# tessera: types("Q K V DO DQ: *TYPE:16", "IDX CU: *i32:16", "LSE DELTA: *fp32:16", "scale: fp32", "T nseq slset sdeltat: i32", "slseh sdeltah: 1", "s*: i32:16")
# tessera: instance select_bwd_dq_quick_f32(TYPE="fp32", G=3, GP=4, LSEL=32, NSEL=6, D=32, DP=32, DT=0, E=32, EP=32, BN=32)
# tessera: instance select_bwd_dq_d64_f32(TYPE="fp32", G=4, GP=4, LSEL=64, NSEL=16, D=64, DP=64, DT=0, E=64, EP=64, BN=64)
# tessera: instance select_bwd_dq_paper_bf16(TYPE="bf16", slset="i32:16", sdeltat="i32:16", G=16, GP=16, LSEL=64, NSEL=16, D=192, DP=128, DT=64, E=128, EP=128, BN=64)
# tessera: cpu(BN=32)
# tessera: cpu(BN=64)
# tessera: space(BN=[16, 32, 64], where=BN <= LSEL)
# tessera: swap_ab
@triton.autotune(
    configs=[
        triton.Config({"BN": 64}, num_warps=4, num_stages=2),
        triton.Config({"BN": 32}, num_warps=2, num_stages=3),
    ],
    key=["G", "D", "E"],
)
@triton.jit(do_not_specialize=["T", "nseq"])
def select_bwd_dq(Q, K, V, IDX, DO, LSE, DELTA, DQ, CU, scale, T, nseq, sqt, sqh, skt, skh, svt, svh, sdot, sdoh, sdqt, sdqh,
                  slset, slseh, sdeltat, sdeltah,
                  G: tl.constexpr, GP: tl.constexpr, LSEL: tl.constexpr, NSEL: tl.constexpr,
                  D: tl.constexpr, DP: tl.constexpr, DT: tl.constexpr, E: tl.constexpr, EP: tl.constexpr, BN: tl.constexpr,
                  ACCUMULATE: tl.constexpr = 0):
    """dq of one token, all heads of one KV head; visits the keys that the forward pass visits."""
    _, start, length, t = find_tile(CU, nseq, tl.program_id(0), 1)
    group = tl.program_id(1).to(tl.int64)
    if t >= length:
        return
    tile = token_rows(start, length, t, group, G, GP)
    row = IDX + (group * T + start + t) * NSEL
    q = load_queries(Rows(Q, sqt, sqh), tile, G, 0, D, DP)
    q2 = load_queries(Rows(Q, sqt, sqh), tile, G, DP, D - DP, DT) if DT else None
    do = load_queries(Rows(DO, sdot, sdoh), tile, G, 0, E, EP)
    total = load_row_values(Rows(LSE, slset, slseh), tile, G) * LOG2E
    delta = load_row_values(Rows(DELTA, sdeltat, sdeltah), tile, G)
    dq = tl.zeros((GP, DP), tl.float32)
    dq2 = tl.zeros((GP, DT), tl.float32) if DT else 0.0
    for r in range(0, NSEL):
        block = tl.load(row + r)                 # -1: no more, an empty range of keys
        bound = tl.minimum((block + 1) * LSEL, t + 1)
        for n in range(tl.maximum(block, 0) * LSEL, bound, BN):
            dq, dq2, unused = key_step(q, q2, do, Rows(K, skt, skh), Rows(V, svt, svh), tile, n, scale, None, total, delta, dq, dq2, 0.0, (bound,),
                                       Pattern((), bounded_mask, None, None, causal=True), Sizes(G, D, DP, DT, E, EP, GP, BN), True, True)
    store_dq(Rows(DQ, sdqt, sdqh), dq * scale, dq2 * scale, tile, Sizes(G, D, DP, DT, E, EP, GP, BN), ACCUMULATE)
