# kernels/nsa/select_bwd_dq.py - attention over selected blocks, dq, one token at a time.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl
from kernels.tiles import add_rows, find_tile, load_rows


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
    """dq of one token, all heads of one KV head; walks the same keys as the forward."""
    _, start, length, t = find_tile(CU, nseq, tl.program_id(0), 1)
    group = tl.program_id(1).to(tl.int64)
    if t >= length:
        return
    head = tl.minimum(tl.arange(0, GP), G - 1)   # padding rows repeat the last head and are not stored
    live = tl.arange(0, GP) < G
    token0 = (start + t).to(tl.int64)
    row = IDX + (group * T + start + t) * NSEL
    q = load_rows(Q + token0 * sqt + group * G * sqh, head * sqh, D, DP)
    if DT:
        q2 = load_rows(Q + token0 * sqt + group * G * sqh + DP, head * sqh, D - DP, DT)
    do = load_rows(DO + token0 * sdot + group * G * sdoh, head * sdoh, E, EP)
    lse = tl.load(LSE + token0 * slset + group * G * slseh + head * slseh) * 1.4426950408889634
    delta = tl.load(DELTA + token0 * sdeltat + group * G * sdeltah + head * sdeltah)
    slope = scale * 1.4426950408889634

    dq = tl.zeros((GP, DP), tl.float32)
    if DT:
        dq2 = tl.zeros((GP, DT), tl.float32)
    cols = tl.arange(0, BN)
    for r in range(0, NSEL):
        block = tl.load(row + r)                 # -1: no more, an empty range of keys
        low = tl.maximum(block, 0) * LSEL
        bound = tl.minimum((block + 1) * LSEL, t + 1)
        for n in range(low, bound, BN):
            pos = n + cols
            key = tl.minimum(pos, length - 1) - n
            key0 = (start + n).to(tl.int64)
            k = load_rows(K + key0 * skt + group * skh, key * skt, D, DP)
            if DT:
                k2 = load_rows(K + key0 * skt + group * skh + DP, key * skt, D - DP, DT)
            v = load_rows(V + key0 * svt + group * svh, key * svt, E, EP)
            s = tl.dot(q, tl.trans(k))
            if DT:
                s = tl.dot(q2, tl.trans(k2), s)
            s = s * slope
            keep = (pos < bound)[None, :]
            p = tl.where(keep, tl.exp2(s - lse[:, None]), 0.0)
            ds = p * (tl.dot(do, tl.trans(v)) - delta[:, None])
            dq = tl.dot(ds.to(k.dtype), k, dq)
            if DT:
                dq2 = tl.dot(ds.to(k.dtype), k2, dq2)

    out = DQ + token0 * sdqt + group * G * sdqh
    out_offs = head * sdqh
    add_rows(out, out_offs, dq * scale, D, DP, live, ACCUMULATE)
    if DT:
        add_rows(out + DP, out_offs, dq2 * scale, D - DP, DT, live, ACCUMULATE)
