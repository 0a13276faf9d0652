# kernels/nsa/select_packed_bwd.py - attention over selected blocks, dq, from keys and values packed by blocks.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
#
# All three products of a token have few rows. Their right operands are packed as pack_keys (select_packed_fwd.py) writes them:
# keys and values transposed for the scores and for dp, keys row by row for dq.
import triton
import triton.language as tl
from kernels.attention.backward_q import store_dq
from kernels.attention.core import LOG2E, Rows, Sizes, load_queries, load_row_values, token_rows
from kernels.tiles import find_tile, pick_block


# tessera: types("Q KT KP VT DO DQ: *TYPE:16", "IDX CU: *i32:16", "LSE DELTA: *fp32:16", "scale: fp32", "T nseq tiles slset sdeltat: i32", "slseh sdeltah: 1", "s*: i32:16")
# tessera: instance select_packed_bwd_dq_quick_f32(TYPE="fp32", G=3, GP=4, LSEL=32, LP=32, NSEL=6, D=32, DP=32, DT=0, KW=32, E=32, EP=32, BN=32)
# tessera: instance select_packed_bwd_dq_d64_f32(TYPE="fp32", G=4, GP=4, LSEL=64, LP=64, NSEL=16, D=64, DP=64, DT=0, KW=64, E=64, EP=64, BN=64)
# tessera: instance select_packed_bwd_dq_paper_bf16(TYPE="bf16", slset="i32:16", sdeltat="i32:16", G=16, GP=16, LSEL=64, LP=64, NSEL=16, D=192, DP=128, DT=64, KW=256, E=128, EP=128, BN=64)
# tessera: cpu(BN=64)
# tessera: cpu(BN=32)
# tessera: space(BN=[16, 32, 64], where=BN <= LP)
# tessera: grid(T + B, H)
# tessera: swap_ab
@triton.autotune(
    configs=[
        triton.Config({"BN": 64}, num_warps=4, num_stages=2),
        triton.Config({"BN": 32}, num_warps=2, num_stages=3),
    ],
    key=["G", "D", "E"],
)
@triton.jit(do_not_specialize=["T", "nseq", "tiles"])
def select_packed_bwd_dq(Q, KT, KP, VT, IDX, DO, LSE, DELTA, DQ, CU, scale, T, nseq, tiles, sqt, sqh, sdot, sdoh, sdqt, sdqh,
                         slset, slseh, sdeltat, sdeltah,
                         G: tl.constexpr, GP: tl.constexpr, LSEL: tl.constexpr, LP: tl.constexpr, NSEL: tl.constexpr,
                         D: tl.constexpr, DP: tl.constexpr, DT: tl.constexpr, KW: tl.constexpr,
                         E: tl.constexpr, EP: tl.constexpr, BN: tl.constexpr,
                         ACCUMULATE: tl.constexpr = 0, SHARE: tl.constexpr = 1, HIDDEN: tl.constexpr = 0):
    """dq of one token, all heads of one list; SHARE and HIDDEN as in select_packed_fwd. KT [Hkv, tiles, DP + DT, LP], KP [Hkv, tiles, LP, KW], VT [Hkv, tiles, EP, LP]."""
    sequence, start, length, t = find_tile(CU, nseq, tl.program_id(0), 1)
    group = tl.program_id(1).to(tl.int64)
    if t >= length:
        return
    tile = token_rows(start, length, t, group, G, GP)
    row = IDX + (group * T + start + t) * NSEL
    q = load_queries(Rows(Q, sqt, sqh), tile, G, 0, D, DP)
    q2 = load_queries(Rows(Q, sqt, sqh), tile, G, DP, D - DP, DT) if DT else None
    do = load_queries(Rows(DO, sdot, sdoh), tile, G, 0, E, EP)
    lse = load_row_values(Rows(LSE, slset, slseh), tile, G) * LOG2E
    delta = load_row_values(Rows(DELTA, sdeltat, sdeltah), tile, G)
    slope = scale * LOG2E
    dq = tl.zeros((GP, DP), tl.float32)
    dq2 = tl.zeros((GP, DT), tl.float32) if DT else 0.0
    STEP: tl.constexpr = BN if BN < LP else LP   # a step stays inside of its block
    cols = tl.arange(0, STEP)
    dims = tl.arange(0, DP)
    e = tl.arange(0, EP)
    head = group // SHARE if SHARE > 1 else group
    first = head * tiles + start // LSEL + sequence          # the first block of the sequence
    for r in range(0, NSEL):
        block = pick_block(row, r, t // LSEL, NSEL)          # -1: an empty range of keys
        low = tl.maximum(block, 0) * LSEL
        bound = tl.minimum((block + 1) * LSEL, (t - HIDDEN if HIDDEN else t) + 1) - low
        packed = first + tl.maximum(block, 0)
        for n in range(0, bound, STEP):
            kt = tl.load(KT + packed * ((DP + DT) * LP) + n + dims[:, None] * LP + cols[None, :])
            s = tl.dot(q, kt)
            if DT:
                tail = tl.arange(0, DT)
                kt2 = tl.load(KT + packed * ((DP + DT) * LP) + DP * LP + n + tail[:, None] * LP + cols[None, :])
                s = tl.dot(q2, kt2, s)
            s = s * slope
            keep = (n + cols < bound)[None, :]
            p = tl.where(keep, tl.exp2(s - lse[:, None]), 0.0)
            vt = tl.load(VT + packed * (EP * LP) + n + e[:, None] * LP + cols[None, :])
            ds = p * (tl.dot(do, vt) - delta[:, None])
            keys = KP + packed * (LP * KW) + n * KW + cols[:, None] * KW
            k = tl.load(keys + dims[None, :])
            dq = tl.dot(ds.to(k.dtype), k, dq)
            if DT:
                k2 = tl.load(keys + DP + tl.arange(0, DT)[None, :])
                dq2 = tl.dot(ds.to(k.dtype), k2, dq2)
    store_dq(Rows(DQ, sdqt, sdqh), dq * scale, dq2 * scale, tile, Sizes(G, D, DP, DT, E, EP, GP, BN), ACCUMULATE)
