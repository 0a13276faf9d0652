# kernels/nsa/cmp_bwd.py - attention over compressed tokens, backward: dq by query rows, dk and dv by key tiles.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl
from kernels.tiles import add_rows, find_tile, load_rows, part_count, store_rows


# tessera: types("Q K V DO DQ: *TYPE:16", "LSE DELTA: *fp32:16", "CU CU_CMP: *i32:16", "scale: fp32", "nseq slset sdeltat: i32", "slseh sdeltah: 1", "s*: i32:16")
# tessera: instance cmp_bwd_dq_quick_f32(TYPE="fp32", G=3, L=16, STRIDE=8, D=32, DP=32, DT=0, E=32, EP=32, BM=64, BN=32)
# tessera: instance cmp_bwd_dq_d64_f32(TYPE="fp32", G=4, L=32, STRIDE=16, D=64, DP=64, DT=0, E=64, EP=64, BM=64, BN=64)
# tessera: instance cmp_bwd_dq_paper_bf16(TYPE="bf16", slset="i32:16", sdeltat="i32:16", G=16, L=32, STRIDE=16, D=192, DP=128, DT=64, E=128, EP=128, BM=64, BN=64)
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
def cmp_bwd_dq(Q, K, V, DO, LSE, DELTA, DQ, CU, CU_CMP, scale, nseq, sqt, sqh, skt, skh, svt, svh, sdot, sdoh, sdqt, sdqh,
               slset, slseh, sdeltat, sdeltah,
               G: tl.constexpr, L: tl.constexpr, STRIDE: tl.constexpr, D: tl.constexpr, DP: tl.constexpr, DT: tl.constexpr,
               E: tl.constexpr, EP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
               ACCUMULATE: tl.constexpr = 0):
    """dq of one tile of (token, head) rows; walks the same keys as the forward."""
    BT: tl.constexpr = BM // G                   # whole tokens; the last BM % G rows of a tile are idle
    tl.static_assert(BT > 0, "BM must hold all heads of a token")
    tile = tl.num_programs(0) - 1 - tl.program_id(0)        # late tokens, which see most keys, first
    b, start, length, t0 = find_tile(CU, nseq, tile, BT)
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
    cmp_start = tl.load(CU_CMP + b)
    count = tl.load(CU_CMP + b + 1) - cmp_start
    seen = tl.maximum(t + 1 - L + STRIDE, 0) // STRIDE          # compressed tokens visible to each row
    most = tl.maximum(last + 1 - L + STRIDE, 0) // STRIDE
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
    for n in range(0, most, BN):
        pos = n + cols
        key = tl.minimum(pos, count - 1) - n
        key0 = (cmp_start + n).to(tl.int64)
        k = load_rows(K + key0 * skt + group * skh, key * skt, D, DP)
        if DT:
            k2 = load_rows(K + key0 * skt + group * skh + DP, key * skt, D - DP, DT)
        v = load_rows(V + key0 * svt + group * svh, key * svt, E, EP)
        keep = pos[None, :] < seen[:, None]
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


# tessera: types("Q K V DO DK DV: *TYPE:16", "LSE DELTA PART: *fp32:16", "CU CU_CMP: *i32:16", "scale: fp32", "nseq parts slset sdeltat: i32", "slseh sdeltah: 1", "s*: i32:16")
# tessera: instance cmp_bwd_dkdv_quick_f32(TYPE="fp32", G=3, L=16, STRIDE=8, SPAN=32, D=32, DP=32, DT=0, E=32, EP=32, BM=64, BN=32)
# tessera: instance cmp_bwd_dkdv_d64_f32(TYPE="fp32", G=4, L=32, STRIDE=16, SPAN=256, D=64, DP=64, DT=0, E=64, EP=64, BM=64, BN=64)
# tessera: instance cmp_bwd_dkdv_paper_bf16(TYPE="bf16", slset="i32:16", sdeltat="i32:16", G=16, L=32, STRIDE=16, SPAN=256, D=192, DP=128, DT=64, E=128, EP=128, BM=64, BN=64)
# tessera: cpu(BM=64, BN=32)
# tessera: cpu(BM=32, BN=64)
# tessera: space(BM=[16, 32, 64, 128], BN=[16, 32, 64, 128], where=G <= BM and BM * BN <= 8192)
# tessera: grid(H, (TC // BN + B) * parts)
@triton.autotune(
    configs=[
        triton.Config({"BM": 32, "BN": 64}, num_warps=4, num_stages=2),
        triton.Config({"BM": 64, "BN": 64}, num_warps=8, num_stages=1),
        triton.Config({"BM": 64, "BN": 64}, num_warps=4, num_stages=1),
        triton.Config({"BM": 64, "BN": 32}, num_warps=4, num_stages=2),
    ],
    key=["G", "D", "E"],
)
@triton.jit(do_not_specialize=["nseq", "parts"])
def cmp_bwd_dkdv(Q, K, V, DO, LSE, DELTA, PART, DK, DV, CU, CU_CMP, scale, nseq, parts, sqt, sqh, skt, skh, svt, svh, sdot, sdoh,
                 sdkt, sdkh, sdvt, sdvh, slset, slseh, sdeltat, sdeltah,
                 G: tl.constexpr, L: tl.constexpr, STRIDE: tl.constexpr, SPAN: tl.constexpr, D: tl.constexpr, DP: tl.constexpr,
                 DT: tl.constexpr, E: tl.constexpr, EP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """dk and dv of one tile of compressed tokens; walks a part of the query rows that can see them, all heads of the group.

    Early keys are seen by most tokens, so that programs of whole tiles end late. A sequence has a part for every SPAN of its tokens,
    at most `parts`; with one part dk and dv are written, else sums for cmp_bwd_sum, in fp32 and not yet scaled.
    """
    BT: tl.constexpr = BM // G                   # whole tokens; the last BM % G rows of a tile are idle
    tl.static_assert(BT > 0, "BM must hold all heads of a token")
    b, cmp_start, count, n = find_tile(CU_CMP, nseq, tl.program_id(1) // parts, BN)     # early keys, which most tokens see, first
    part = tl.program_id(1) % parts
    group = tl.program_id(0).to(tl.int64)
    start = tl.load(CU + b)
    length = tl.load(CU + b + 1) - start
    cut = part_count(length, parts, SPAN)
    if (n >= count) | (part >= cut):
        return
    first = n * STRIDE + L - 1                   # the first token that sees one of the keys
    early = n // 128 * 128 * STRIDE + L - 1      # of the largest tile: parts end where they do for all, so that their sums are alike
    share = (length - early + cut - 1) // cut
    begin = tl.maximum(early + part * share, first)
    end = tl.minimum(early + (part + 1) * share, length)
    cols = tl.arange(0, BN)
    pos = n + cols
    key = tl.minimum(pos, count - 1) - n
    key0 = (cmp_start + n).to(tl.int64)
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
    for t0 in range(begin, end, BT):
        rel = tl.minimum(rows // G, end - 1 - t0)            # rows past the end repeat the last token
        seen = tl.maximum(t0 + rel + 1 - L + STRIDE, 0) // STRIDE
        seen = tl.where(rows // G < tl.minimum(BT, end - t0), seen, 0)       # and, as idle ones, see nothing
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
        p = tl.where(pos[None, :] < seen[:, None], tl.exp2(s - lse[:, None]), 0.0)
        dv = tl.dot(tl.trans(p.to(do.dtype)), do, dv)
        ds = p * (tl.dot(do, vt) - delta[:, None])
        dk = tl.dot(tl.trans(ds.to(q.dtype)), q, dk)
        if DT:
            dk2 = tl.dot(tl.trans(ds.to(q.dtype)), q2, dk2)

    held = pos < count
    if cut > 1:
        step = tl.num_programs(0) * parts * (D + E)
        sums = PART + ((key0 * tl.num_programs(0) + group) * parts + part) * (D + E)
        store_rows(sums, cols * step, dk, D, DP, held)
        if DT:
            store_rows(sums + DP, cols * step, dk2, D - DP, DT, held)
        store_rows(sums + D, cols * step, dv, E, EP, held)
    else:
        store_rows(DK + key0 * sdkt + group * sdkh, cols * sdkt, dk * scale, D, DP, held)
        if DT:
            store_rows(DK + key0 * sdkt + group * sdkh + DP, cols * sdkt, dk2 * scale, D - DP, DT, held)
        store_rows(DV + key0 * sdvt + group * sdvh, cols * sdvt, dv, E, EP, held)
