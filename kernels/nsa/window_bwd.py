# kernels/nsa/window_bwd.py - sliding-window attention, backward: dq by query rows, dk and dv by key tiles.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl
from kernels.tiles import add_rows, find_tile, load_rows


# tessera: types("Q K V DO DQ: *TYPE:16", "LSE DELTA: *fp32:16", "CU: *i32:16", "scale: fp32", "nseq slset sdeltat: i32", "slseh sdeltah: 1", "s*: i32:16")
# tessera: instance window_bwd_dq_quick_f32(TYPE="fp32", G=3, W=64, D=32, DP=32, DT=0, E=32, EP=32, BM=64, BN=32)
# tessera: instance window_bwd_dq_d64_f32(TYPE="fp32", G=4, W=512, D=64, DP=64, DT=0, E=64, EP=64, BM=64, BN=64)
# tessera: instance window_bwd_dq_paper_bf16(TYPE="bf16", slset="i32:16", sdeltat="i32:16", G=16, W=512, D=192, DP=128, DT=64, E=128, EP=128, BM=64, BN=64)
# tessera: cpu(BM=64, BN=32)
# tessera: cpu(BM=32, BN=64)
# tessera: space(BM=[16, 32, 64, 128], BN=[16, 32, 64, 128], where=G <= BM and BM * BN <= 8192)
# tessera: grid(T // (BM // G) + B, H)
@triton.autotune(
    configs=[
        triton.Config({"BM": 128, "BN": 32}, num_warps=4, num_stages=1),
        triton.Config({"BM": 64, "BN": 64}, num_warps=4, num_stages=1),
        triton.Config({"BM": 64, "BN": 64}, num_warps=8, num_stages=2),
        triton.Config({"BM": 64, "BN": 32}, num_warps=4, num_stages=2),
        triton.Config({"BM": 32, "BN": 64}, num_warps=4, num_stages=2),
    ],
    key=["G", "D", "E"],
)
@triton.jit(do_not_specialize=["nseq"])
def window_bwd_dq(Q, K, V, DO, LSE, DELTA, DQ, CU, scale, nseq, sqt, sqh, skt, skh, svt, svh, sdot, sdoh, sdqt, sdqh,
                  slset, slseh, sdeltat, sdeltah,
                  G: tl.constexpr, W: tl.constexpr, D: tl.constexpr, DP: tl.constexpr, DT: tl.constexpr,
                  E: tl.constexpr, EP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
                  ACCUMULATE: tl.constexpr = 0):
    """dq of one tile of (token, head) rows; walks the same keys as the forward."""
    BT: tl.constexpr = BM // G                   # whole tokens; the last BM % G rows of a tile are idle
    tl.static_assert(BT > 0, "BM must hold all heads of a token")
    tile = tl.num_programs(0) - 1 - tl.program_id(0)        # late tokens, which see most keys, first
    _, start, length, t0 = find_tile(CU, nseq, tile, BT)
    group = tl.program_id(1).to(tl.int64)
    if t0 >= length:
        return
    rows = tl.arange(0, BM)
    head = rows % G
    live = rows // G < tl.minimum(BT, length - t0)
    t = tl.minimum(t0 + rows // G, length - 1)     # rows past the end repeat the last token and are not stored
    rel = t - t0
    last = tl.minimum(t0 + BT, length) - 1
    token0 = (start + t0).to(tl.int64)
    q = load_rows(Q + token0 * sqt + group * G * sqh, rel * sqt + head * sqh, D, DP)
    if DT:
        q2 = load_rows(Q + token0 * sqt + group * G * sqh + DP, rel * sqt + head * sqh, D - DP, DT)
    do = load_rows(DO + token0 * sdot + group * G * sdoh, rel * sdot + head * sdoh, E, EP)
    lse = tl.load(LSE + token0 * slset + group * G * slseh + rel * slset + head * slseh) * 1.4426950408889634
    delta = tl.load(DELTA + token0 * sdeltat + group * G * sdeltah + rel * sdeltat + head * sdeltah)
    slope = scale * 1.4426950408889634

    dq = tl.zeros((BM, DP), tl.float32)
    if DT:
        dq2 = tl.zeros((BM, DT), tl.float32)
    cols = tl.arange(0, BN)
    for n in range(tl.maximum(t0 - W + 1, 0) // BN * BN, last + 1, BN):
        pos = n + cols
        key = tl.minimum(pos, length - 1) - n
        key0 = (start + n).to(tl.int64)
        k = load_rows(K + key0 * skt + group * skh, key * skt, D, DP)
        if DT:
            k2 = load_rows(K + key0 * skt + group * skh + DP, key * skt, D - DP, DT)
        v = load_rows(V + key0 * svt + group * svh, key * svt, E, EP)
        keep = (pos[None, :] <= t[:, None]) & (pos[None, :] > t[:, None] - W)
        dp = tl.dot(do, tl.trans(v))             # first: spills less in this order
        if DT:
            s = tl.dot(q, tl.trans(k), tl.dot(q2, tl.trans(k2))) * slope
        else:
            s = tl.dot(q, tl.trans(k)) * slope
        ds = tl.where(keep, tl.exp2(s - lse[:, None]) * (dp - delta[:, None]), 0.0)
        dq = tl.dot(ds.to(k.dtype), k, dq)
        if DT:
            dq2 = tl.dot(ds.to(k.dtype), k2, dq2)

    out = DQ + token0 * sdqt + group * G * sdqh
    out_offs = rel * sdqt + head * sdqh
    add_rows(out, out_offs, dq * scale, D, DP, live, ACCUMULATE)
    if DT:
        add_rows(out + DP, out_offs, dq2 * scale, D - DP, DT, live, ACCUMULATE)


# tessera: types("Q K V DO DK DV: *TYPE:16", "LSE DELTA: *fp32:16", "CU: *i32:16", "scale: fp32", "nseq slset sdeltat: i32", "slseh sdeltah: 1", "s*: i32:16")
# tessera: instance window_bwd_dkdv_quick_f32(TYPE="fp32", G=3, W=64, D=32, DP=32, DT=0, E=32, EP=32, BM=64, BN=32)
# tessera: instance window_bwd_dkdv_d64_f32(TYPE="fp32", G=4, W=512, D=64, DP=64, DT=0, E=64, EP=64, BM=64, BN=64)
# tessera: instance window_bwd_dkdv_paper_bf16(TYPE="bf16", slset="i32:16", sdeltat="i32:16", G=16, W=512, D=192, DP=128, DT=64, E=128, EP=128, BM=64, BN=64)
# tessera: cpu(BM=64, BN=32)
# tessera: cpu(BM=32, BN=64)
# tessera: space(BM=[16, 32, 64, 128], BN=[16, 32, 64, 128], where=G <= BM and BM * BN <= 8192)
# tessera: grid(H, T // BN + B)
@triton.autotune(
    configs=[
        triton.Config({"BM": 32, "BN": 64}, num_warps=4, num_stages=2),
        triton.Config({"BM": 64, "BN": 64}, num_warps=8, num_stages=1),
        triton.Config({"BM": 64, "BN": 64}, num_warps=4, num_stages=1),
        triton.Config({"BM": 64, "BN": 32}, num_warps=4, num_stages=2),
    ],
    key=["G", "D", "E"],
)
@triton.jit(do_not_specialize=["nseq"])
def window_bwd_dkdv(Q, K, V, DO, LSE, DELTA, DK, DV, CU, scale, nseq, sqt, sqh, skt, skh, svt, svh, sdot, sdoh,
                    sdkt, sdkh, sdvt, sdvh, slset, slseh, sdeltat, sdeltah,
                    G: tl.constexpr, W: tl.constexpr, D: tl.constexpr, DP: tl.constexpr, DT: tl.constexpr,
                    E: tl.constexpr, EP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """dk and dv of one tile of keys; walks the query rows that can see them, all heads of the group."""
    BT: tl.constexpr = BM // G                   # whole tokens; the last BM % G rows of a tile are idle
    tl.static_assert(BT > 0, "BM must hold all heads of a token")
    _, start, length, n = find_tile(CU, nseq, tl.program_id(1), BN)      # early keys, which most tokens see, first
    group = tl.program_id(0).to(tl.int64)
    if n >= length:
        return
    cols = tl.arange(0, BN)
    pos = n + cols
    key = tl.minimum(pos, length - 1) - n
    key0 = (start + n).to(tl.int64)
    kt = tl.trans(load_rows(K + key0 * skt + group * skh, key * skt, D, DP))
    if DT:
        kt2 = tl.trans(load_rows(K + key0 * skt + group * skh + DP, key * skt, D - DP, DT))
    vt = tl.trans(load_rows(V + key0 * svt + group * svh, key * svt, E, EP))
    slope = scale * 1.4426950408889634

    rows = tl.arange(0, BM)
    head = rows % G
    dk = tl.zeros((BN, DP), tl.float32)
    if DT:
        dk2 = tl.zeros((BN, DT), tl.float32)
    dv = tl.zeros((BN, EP), tl.float32)
    stop = tl.minimum(n + BN - 1 + W, length)    # first token that sees none of the keys
    for t0 in range(n, stop, BT):
        rel = tl.minimum(rows // G, length - 1 - t0)         # rows past the end repeat the last token
        t = t0 + rel
        newest = tl.where(rows // G < tl.minimum(BT, length - t0), t, -1)    # and, as idle ones, see nothing
        token0 = (start + t0).to(tl.int64)
        q = load_rows(Q + token0 * sqt + group * G * sqh, rel * sqt + head * sqh, D, DP)
        if DT:
            q2 = load_rows(Q + token0 * sqt + group * G * sqh + DP, rel * sqt + head * sqh, D - DP, DT)
        do = load_rows(DO + token0 * sdot + group * G * sdoh, rel * sdot + head * sdoh, E, EP)
        lse = tl.load(LSE + token0 * slset + group * G * slseh + rel * slset + head * slseh)
        lse = lse * 1.4426950408889634
        delta = tl.load(DELTA + token0 * sdeltat + group * G * sdeltah + rel * sdeltat + head * sdeltah)
        s = tl.dot(q, kt)
        if DT:
            s = tl.dot(q2, kt2, s)
        s = s * slope
        keep = (pos[None, :] <= newest[:, None]) & (pos[None, :] > t[:, None] - W)
        p = tl.where(keep, tl.exp2(s - lse[:, None]), 0.0)
        dv = tl.dot(tl.trans(p.to(do.dtype)), do, dv)
        ds = p * (tl.dot(do, vt) - delta[:, None])
        dk = tl.dot(tl.trans(ds.to(q.dtype)), q, dk)
        if DT:
            dk2 = tl.dot(tl.trans(ds.to(q.dtype)), q2, dk2)

    d = tl.arange(0, DP)
    e = tl.arange(0, EP)
    held = pos < length
    tl.store(DK + key0 * sdkt + group * sdkh + (cols * sdkt)[:, None] + d[None, :], (dk * scale).to(DK.dtype.element_ty),
             mask=held[:, None] & (d[None, :] < D))
    if DT:
        tail = DP + tl.arange(0, DT)
        tl.store(DK + key0 * sdkt + group * sdkh + (cols * sdkt)[:, None] + tail[None, :], (dk2 * scale).to(DK.dtype.element_ty),
                 mask=held[:, None] & (tail[None, :] < D))
    tl.store(DV + key0 * sdvt + group * sdvh + (cols * sdvt)[:, None] + e[None, :], dv.to(DV.dtype.element_ty),
             mask=held[:, None] & (e[None, :] < E))
