# strided.py - attention over a window, the first keys and every 128th key: a pattern whose period is a constant of the text.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Query t of a sequence attends the keys for which sees(t, pos) holds.

strided          forward, one tile of (token, head) rows a program
strided_ref      the same row by row, as plainly as possible: what `tessera check` compares with
strided_bwd_dq   gradient of the queries, by tiles of rows
strided_bwd_dkdv gradient of keys and values, by tiles of keys

To make another pattern, change `sees`, the bounds below it, `needed`, and the loop of strided_ref; then run
    tessera check strided.py
"""
import triton
import triton.language as tl


@triton.jit
def sees(t, pos, W: tl.constexpr):
    """Whether the query at position t attends the key at position pos."""
    return (pos <= t) & ((pos > t - W) | (pos < 4) | ((t - pos) % 128 == 0))


@triton.jit
def first_key(t, W: tl.constexpr):
    """No key before this one is seen by query t or a later one."""
    return 0


@triton.jit
def past_query(pos, W: tl.constexpr):
    """Neither this query nor a later one sees key pos or an earlier one."""
    return 2147483647


@triton.jit
def needed(t0, t1, n0, n1, W: tl.constexpr):
    """Whether a query from t0 to t1 may see a key from n0 to n1, both inclusive. Tiles of which none may are skipped."""
    return (n0 < 4) | (n1 > t0 - W) | ((t1 - n0) // 128 * 128 >= t0 - n1)


@triton.jit
def load_rows(ptr, offs, N: tl.constexpr, NP: tl.constexpr):
    """Rows that start at ptr + offs, N elements each; columns N .. NP-1 read as zero."""
    cols = tl.arange(0, NP)
    return tl.load(ptr + offs[:, None] + cols[None, :], mask=cols[None, :] < N, other=0.0)


# One program a row. Accumulators have the type of Q, so that gradients can be checked in fp64.
# tessera: grid(S, H * G, B)
@triton.jit
def strided_ref(Q, K, V, O, LSE, CU, scale, T, sqt, sqh, skt, skh, svt, svh, sot, soh,
             G: tl.constexpr, W: tl.constexpr, D: tl.constexpr, DP: tl.constexpr,
             E: tl.constexpr, EP: tl.constexpr):
    t = tl.program_id(0)
    head = tl.program_id(1)
    start = tl.load(CU + tl.program_id(2))
    length = tl.load(CU + tl.program_id(2) + 1) - start
    if t >= length:
        return
    d = tl.arange(0, DP)
    e = tl.arange(0, EP)
    q = tl.load(Q + (start + t) * sqt + head * sqh + d, mask=d < D, other=0.0)
    keys = K + start * skt + head // G * skh + d
    values = V + start * svt + head // G * svh + e
    peak = tl.full((1,), float("-inf"), Q.dtype.element_ty)
    for pos in range(0, t + 1):
        if (pos < 4) | (t - pos < W) | ((t - pos) % 128 == 0):
            k = tl.load(keys + pos * skt, mask=d < D, other=0.0)
            peak = tl.maximum(peak, tl.sum(q * k) * scale)
    total = tl.zeros((1,), Q.dtype.element_ty)
    acc = tl.zeros((EP,), Q.dtype.element_ty)
    for pos in range(0, t + 1):
        if (pos < 4) | (t - pos < W) | ((t - pos) % 128 == 0):
            k = tl.load(keys + pos * skt, mask=d < D, other=0.0)
            v = tl.load(values + pos * svt, mask=e < E, other=0.0)
            p = tl.exp(tl.sum(q * k) * scale - peak)
            total += p
            acc += p * v
    tl.store(O + (start + t) * sot + head * soh + e, acc / total, mask=e < E)
    tl.store(LSE + head * T + start + t + tl.arange(0, 1), peak + tl.log(total))


# tessera: types("Q K V O: *TYPE:16", "LSE: *fp32:16", "CU: *i32:16", "scale: fp32", "T: i32", "s*: i32:16")
# tessera: instance strided_f32(TYPE="fp32", G=3, W=20, D=32, DP=32, E=32, EP=32, BM=64, BN=32)
# tessera: instance strided_wide_f32(TYPE="fp32", G=1, W=50, D=48, DP=64, E=16, EP=16, BM=32, BN=16)
# tessera: instance strided_bf16(TYPE="bf16", G=4, W=64, D=64, DP=64, E=64, EP=64, BM=64, BN=64)
# tessera: cpu(BM=64, BN=32)
# tessera: cpu(BM=32, BN=64)
# tessera: space(BM=[16, 32, 64, 128], BN=[16, 32, 64, 128], where=BM * BN <= 8192)
# tessera: grid(cdiv(S * G, BM), H, B)
@triton.jit(do_not_specialize=["T"])
def strided(Q, K, V, O, LSE, CU, scale, T, sqt, sqh, skt, skh, svt, svh, sot, soh,
         G: tl.constexpr, W: tl.constexpr, D: tl.constexpr, DP: tl.constexpr,
         E: tl.constexpr, EP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """Row r of a sequence is token r // G and head r % G of one KV head."""
    first = tl.program_id(0) * BM
    group = tl.program_id(1).to(tl.int64)
    start = tl.load(CU + tl.program_id(2))
    length = tl.load(CU + tl.program_id(2) + 1) - start
    if first >= length * G:
        return
    rows = first + tl.arange(0, BM)
    live = rows < length * G
    t = tl.minimum(rows // G, length - 1)        # rows past the end repeat the last token and are not stored
    head = rows % G
    t0 = first // G
    last = tl.minimum((first + BM - 1) // G, length - 1)
    token0 = (start + t0).to(tl.int64)
    q = load_rows(Q + token0 * sqt + group * G * sqh, (t - t0) * sqt + head * sqh, D, DP)
    slope = scale * 1.4426950408889634           # scores in units of log 2

    peak = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, EP), tl.float32)
    cols = tl.arange(0, BN)
    for n in range(first_key(t0, W) // BN * BN, last + 1, BN):
        if needed(t0, last, n, n + BN - 1, W):
            pos = n + cols
            key = tl.minimum(pos, length - 1) - n    # keys past the end are never seen
            key0 = (start + n).to(tl.int64)
            k = load_rows(K + key0 * skt + group * skh, key * skt, D, DP)
            v = load_rows(V + key0 * svt + group * svh, key * svt, E, EP)
            keep = sees(t[:, None], pos[None, :], W)
            s = tl.where(keep, tl.dot(q, tl.trans(k)) * slope, float("-inf"))
            top = tl.maximum(peak, tl.max(s, 1))
            base = tl.where(top == float("-inf"), 0.0, top)
            p = tl.exp2(s - base[:, None])
            shrink = tl.exp2(peak - base)
            total = total * shrink + tl.sum(p, 1)
            acc = tl.dot(p.to(v.dtype), v, acc * shrink[:, None])
            peak = top

    none = total == 0.0                          # a row without keys: o = 0, lse = -inf
    total = tl.where(none, 1.0, total)
    acc = acc / total[:, None]
    lse = tl.where(none, float("-inf"), (peak + tl.log2(total)) * 0.6931471805599453)
    e = tl.arange(0, EP)
    out = O + token0 * sot + group * G * soh
    out_offs = (t - t0) * sot + head * soh
    tl.store(out + out_offs[:, None] + e[None, :], acc.to(O.dtype.element_ty),
             mask=live[:, None] & (e[None, :] < E))
    tl.store(LSE + group * G * T + start + head * T + t, lse, mask=live)


# tessera: types("Q K V DO LSE DELTA DQ: *fp32:16", "CU: *i32:16", "scale: fp32", "T: i32", "s*: i32:16")
# tessera: instance strided_bwd_dq_f32(G=3, W=20, D=32, DP=32, E=32, EP=32, BM=64, BN=32)
# tessera: cpu(BM=64, BN=32)
# tessera: space(BM=[16, 32, 64, 128], BN=[16, 32, 64, 128], where=BM * BN <= 8192)
# tessera: grid(cdiv(S * G, BM), H, B)
@triton.jit(do_not_specialize=["T"])
def strided_bwd_dq(Q, K, V, DO, LSE, DELTA, DQ, CU, scale, T, sqt, sqh, skt, skh, svt, svh, sdot, sdoh, sdqt, sdqh,
                G: tl.constexpr, W: tl.constexpr, D: tl.constexpr, DP: tl.constexpr,
                E: tl.constexpr, EP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """dq of one tile of rows; walks the same keys as the forward. DELTA is the sum of O * DO over E."""
    first = tl.program_id(0) * BM
    group = tl.program_id(1).to(tl.int64)
    start = tl.load(CU + tl.program_id(2))
    length = tl.load(CU + tl.program_id(2) + 1) - start
    if first >= length * G:
        return
    rows = first + tl.arange(0, BM)
    live = rows < length * G
    t = tl.minimum(rows // G, length - 1)
    head = rows % G
    t0 = first // G
    last = tl.minimum((first + BM - 1) // G, length - 1)
    token0 = (start + t0).to(tl.int64)
    q = load_rows(Q + token0 * sqt + group * G * sqh, (t - t0) * sqt + head * sqh, D, DP)
    do = load_rows(DO + token0 * sdot + group * G * sdoh, (t - t0) * sdot + head * sdoh, E, EP)
    lse = tl.load(LSE + group * G * T + start + head * T + t) * 1.4426950408889634
    delta = tl.load(DELTA + group * G * T + start + head * T + t)
    slope = scale * 1.4426950408889634

    dq = tl.zeros((BM, DP), tl.float32)
    cols = tl.arange(0, BN)
    for n in range(first_key(t0, W) // BN * BN, last + 1, BN):
        if needed(t0, last, n, n + BN - 1, W):
            pos = n + cols
            key = tl.minimum(pos, length - 1) - n
            key0 = (start + n).to(tl.int64)
            k = load_rows(K + key0 * skt + group * skh, key * skt, D, DP)
            v = load_rows(V + key0 * svt + group * svh, key * svt, E, EP)
            keep = sees(t[:, None], pos[None, :], W)
            p = tl.where(keep, tl.exp2(tl.dot(q, tl.trans(k)) * slope - lse[:, None]), 0.0)
            ds = p * (tl.dot(do, tl.trans(v)) - delta[:, None])
            dq = tl.dot(ds.to(k.dtype), k, dq)

    d = tl.arange(0, DP)
    out = DQ + token0 * sdqt + group * G * sdqh
    out_offs = (t - t0) * sdqt + head * sdqh
    tl.store(out + out_offs[:, None] + d[None, :], (dq * scale).to(DQ.dtype.element_ty),
             mask=live[:, None] & (d[None, :] < D))


# tessera: types("Q K V DO LSE DELTA DK DV: *fp32:16", "CU: *i32:16", "scale: fp32", "T: i32", "s*: i32:16")
# tessera: instance strided_bwd_dkdv_f32(G=3, W=20, D=32, DP=32, E=32, EP=32, BM=64, BN=32)
# tessera: cpu(BM=64, BN=32)
# tessera: space(BM=[16, 32, 64, 128], BN=[16, 32, 64, 128], where=BM * BN <= 8192)
# tessera: grid(cdiv(S, BN), H, B)
@triton.jit(do_not_specialize=["T"])
def strided_bwd_dkdv(Q, K, V, DO, LSE, DELTA, DK, DV, CU, scale, T, sqt, sqh, skt, skh, svt, svh, sdot, sdoh,
                  sdkt, sdkh, sdvt, sdvh,
                  G: tl.constexpr, W: tl.constexpr, D: tl.constexpr, DP: tl.constexpr,
                  E: tl.constexpr, EP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """dk and dv of one tile of keys; walks the rows that can see them, all heads of the group."""
    n = tl.program_id(0) * BN
    group = tl.program_id(1).to(tl.int64)
    start = tl.load(CU + tl.program_id(2))
    length = tl.load(CU + tl.program_id(2) + 1) - start
    if n >= length:
        return
    pos = n + tl.arange(0, BN)
    key = tl.minimum(pos, length - 1) - n
    key0 = (start + n).to(tl.int64)
    kt = tl.trans(load_rows(K + key0 * skt + group * skh, key * skt, D, DP))
    vt = tl.trans(load_rows(V + key0 * svt + group * svh, key * svt, E, EP))
    slope = scale * 1.4426950408889634

    dk = tl.zeros((BN, DP), tl.float32)
    dv = tl.zeros((BN, EP), tl.float32)
    stop = tl.minimum(past_query(n + BN - 1, W), length)
    for r in range(n * G, stop * G, BM):
        t0 = r // G
        last = tl.minimum((r + BM - 1) // G, length - 1)
        if needed(t0, last, n, n + BN - 1, W):
            rows = r + tl.arange(0, BM)
            t = tl.minimum(rows // G, length - 1)
            head = rows % G
            token0 = (start + t0).to(tl.int64)
            q = load_rows(Q + token0 * sqt + group * G * sqh, (t - t0) * sqt + head * sqh, D, DP)
            do = load_rows(DO + token0 * sdot + group * G * sdoh, (t - t0) * sdot + head * sdoh, E, EP)
            lse = tl.load(LSE + group * G * T + start + head * T + t) * 1.4426950408889634
            delta = tl.load(DELTA + group * G * T + start + head * T + t)
            keep = sees(t[:, None], pos[None, :], W) & (rows < length * G)[:, None]
            p = tl.where(keep, tl.exp2(tl.dot(q, kt) * slope - lse[:, None]), 0.0)
            dv = tl.dot(tl.trans(p.to(do.dtype)), do, dv)
            ds = p * (tl.dot(do, vt) - delta[:, None])
            dk = tl.dot(tl.trans(ds.to(q.dtype)), q, dk)

    d = tl.arange(0, DP)
    e = tl.arange(0, EP)
    live = pos < length
    tl.store(DK + key0 * sdkt + group * sdkh + (key * sdkt)[:, None] + d[None, :], (dk * scale).to(DK.dtype.element_ty),
             mask=live[:, None] & (d[None, :] < D))
    tl.store(DV + key0 * sdvt + group * sdvh + (key * sdvt)[:, None] + e[None, :],
             dv.to(DV.dtype.element_ty), mask=live[:, None] & (e[None, :] < E))
