# kernels/attention/backward_kv.py - attention of a pattern, backward: the gradients of keys and values.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""dv = p^T do and dk = scale * ds^T q, with p and ds as in backward_q.py (FlashAttention 2, algorithm 2)."""
import triton
import triton.language as tl
from kernels.attention.backward_q import log_denominator, score_gradient
from kernels.attention.core import any_visible, load_keys, load_queries, load_row_values, query_tile, split_range, visible_keys
from kernels.tiles import find_tile, store_rows


@triton.jit
def query_step(q, do, lse, delta, sink, learned, kt, kt2, vt, start, length, first, n, group, scale, dk, dk2, dv, extra, pattern, size,
               MASKED: tl.constexpr):
    """Adds what the tile of queries from `first` on contributes to dk / scale and dv of keys n .. n+BN-1."""
    tile = query_tile(start, length, first, group, size.G, size.BM)
    pos = n + tl.arange(0, size.BN)
    q1 = load_queries(q, tile, size.G, 0, size.D, size.DP)
    do1 = load_queries(do, tile, size.G, 0, size.E, size.EP)
    total, _ = log_denominator(lse, sink, tile, size.G)
    change = load_row_values(delta, tile, size.G)
    number = load_row_values(learned, tile, size.G)[:, None] if learned is not None else None
    s = tl.dot(q1, kt)
    if size.DT:
        q2 = load_queries(q, tile, size.G, size.DP, size.D - size.DP, size.DT)
        s = tl.dot(q2, kt2, s)
    keep = None
    if MASKED:
        keep = visible_keys(tile, pos, extra, pattern, size.G) & tile.live[:, None]
    elif size.BM % size.G != 0:                  # the last rows of every tile are idle
        keep = tl.broadcast_to(tile.live[:, None], (size.BM, size.BN))
    p, _, ds = score_gradient(s, tl.dot(do1, vt), tile, pos, scale, number, total, change, keep, extra, pattern, size.G)
    dv = tl.dot(tl.trans(p.to(do1.dtype)), do1, dv)
    dk = tl.dot(tl.trans(ds.to(q1.dtype)), q1, dk)
    if size.DT:
        dk2 = tl.dot(tl.trans(ds.to(q1.dtype)), q2, dk2)
    return dk, dk2, dv


@triton.jit
def visit_queries(q, do, lse, delta, sink, learned, kt, kt2, vt, start, length, first, past, n, group, scale, dk, dk2, dv, extra, pattern, size,
                  MASKED: tl.constexpr):
    """query_step over the tiles of queries from `first` to `past`. A masked sweep skips the tiles that attend to none of the keys."""
    for t0 in range(first, past, size.BM // size.G):
        if MASKED and pattern.visible is not None:
            if any_visible(t0, n, length, group, extra, pattern, size):
                dk, dk2, dv = query_step(q, do, lse, delta, sink, learned, kt, kt2, vt, start, length, t0, n, group, scale, dk, dk2, dv, extra, pattern,
                                         size, True)
        else:
            dk, dk2, dv = query_step(q, do, lse, delta, sink, learned, kt, kt2, vt, start, length, t0, n, group, scale, dk, dk2, dv, extra, pattern,
                                     size, MASKED)
    return dk, dk2, dv


@triton.jit
def backward_kv(q, k, v, do, lse, delta, dk, dv, sink, learned, CU, nseq, scale, pattern, size, SPLIT: tl.constexpr):
    """dk and dv of one tile of keys; visits the queries that may attend to them, all heads of the group. The program ids are the
    key/value head and the tile of keys."""
    BT: tl.constexpr = size.BM // size.G
    tl.static_assert(BT > 0, "BM must hold all heads of a token")
    sequence, start, length, n = find_tile(CU, nseq, tl.program_id(1), size.BN)      # early keys, which most tokens see, first
    group = tl.program_id(0).to(tl.int64)
    if n >= length:
        return
    kt = tl.trans(load_keys(k, start, length, n, group, 0, size.D, size.DP, size.BN))
    kt2 = tl.trans(load_keys(k, start, length, n, group, size.DP, size.D - size.DP, size.DT, size.BN)) if size.DT else None
    vt = tl.trans(load_keys(v, start, length, n, group, 0, size.E, size.EP, size.BN))
    head0 = tl.program_id(0) * size.G
    extra = pattern.inputs if pattern.load is None else pattern.load(pattern.inputs, sequence)
    lowest, full_first, full_past, past = pattern.queries(n, tl.minimum(n + size.BN, length) - 1, length, head0, head0 + size.G - 1,
                                                          extra)

    sum1 = tl.zeros((size.BN, size.DP), tl.float32)
    sum2 = tl.zeros((size.BN, size.DT), tl.float32) if size.DT else 0.0
    sumv = tl.zeros((size.BN, size.EP), tl.float32)
    if SPLIT:
        begin, end = split_range(lowest, full_first, full_past, past, BT)
        sum1, sum2, sumv = visit_queries(q, do, lse, delta, sink, learned, kt, kt2, vt, start, length, lowest, begin, n, group, scale, sum1, sum2,
                                         sumv, extra, pattern, size, True)
        sum1, sum2, sumv = visit_queries(q, do, lse, delta, sink, learned, kt, kt2, vt, start, length, begin, end, n, group, scale, sum1, sum2,
                                         sumv, extra, pattern, size, False)
        sum1, sum2, sumv = visit_queries(q, do, lse, delta, sink, learned, kt, kt2, vt, start, length, end, past, n, group, scale, sum1, sum2,
                                         sumv, extra, pattern, size, True)
    else:
        sum1, sum2, sumv = visit_queries(q, do, lse, delta, sink, learned, kt, kt2, vt, start, length, lowest, past, n, group, scale, sum1, sum2,
                                         sumv, extra, pattern, size, True)

    key = tl.arange(0, size.BN)
    live = n + key < length
    base = dk.ptr + (start + n).to(tl.int64) * dk.token + group * dk.head
    store_rows(base, key * dk.token, sum1 * scale, size.D, size.DP, live)
    if size.DT:
        store_rows(base + size.DP, key * dk.token, sum2 * scale, size.D - size.DP, size.DT, live)
    store_rows(dv.ptr + (start + n).to(tl.int64) * dv.token + group * dv.head, key * dv.token, sumv, size.E, size.EP, live)
