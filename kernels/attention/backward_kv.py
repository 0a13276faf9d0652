# kernels/attention/backward_kv.py - attention of a pattern, backward: the gradients of keys and values.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""dv = p^T do and dk = scale * ds^T q, with p and ds as in backward_q.py (FlashAttention 2, algorithm 2)."""
import triton
import triton.language as tl
from kernels.attention.backward_q import log_denominator, probabilities, product_gradient
from kernels.attention.core import any_visible, live_keys, load_keys, load_queries, load_row_values, query_tile, split_range, zero_slices
from kernels.tiles import find_tile, store_rows


@triton.jit
def query_step(q, do, lse, delta, sink, learned, kt, kt2, vt, tile, n, scale, dk, dk2, dv, extra, pattern, size, MASKED: tl.constexpr):
    """Adds what a tile of queries contributes to dk / scale and dv of keys n .. n+BN-1."""
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
        keep = live_keys(tile, pos, extra, pattern, size.G)
    elif size.BM % size.G != 0:                  # the last rows of every tile are idle
        keep = tl.broadcast_to(tile.live[:, None], (size.BM, size.BN))
    p = probabilities(s, tile, pos, scale, number, total, keep, extra, pattern, size.G)
    dv = tl.dot(tl.trans(p.to(do1.dtype)), do1, dv)
    ds = product_gradient(s, p * (tl.dot(do1, vt) - change[:, None]), tile, pos, scale, number, keep, extra, pattern, size.G)
    dk = tl.dot(tl.trans(ds.to(q1.dtype)), q1, dk)
    if size.DT:
        dk2 = tl.dot(tl.trans(ds.to(q1.dtype)), q2, dk2)
    return dk, dk2, dv


@triton.jit
def visit_queries(q, do, lse, delta, sink, learned, kt, kt2, vt, start, length, key0, keys, first, past, n, group, scale, dk, dk2, dv, extra, pattern, size,
                  MASKED: tl.constexpr):
    """query_step over the tiles of queries from `first` to `past`. A masked sweep skips the tiles that attend to none of the keys."""
    for t0 in range(first, past, size.BM // size.G):
        tile = query_tile(start, length, t0, group, key0, keys, size.G, size.BM, True)
        if MASKED and pattern.visible is not None:
            if any_visible(t0, n, length, keys, group, extra, pattern, size, size.BN):
                dk, dk2, dv = query_step(q, do, lse, delta, sink, learned, kt, kt2, vt, tile, n, scale, dk, dk2, dv, extra, pattern, size, True)
        else:
            dk, dk2, dv = query_step(q, do, lse, delta, sink, learned, kt, kt2, vt, tile, n, scale, dk, dk2, dv, extra, pattern, size, MASKED)
    return dk, dk2, dv


@triton.jit
def sum_queries(q, k, v, do, lse, delta, sink, learned, start, length, key0, keys, n, group, lowest, full_first, full_past, past, scale, extra,
                pattern, size, SPLIT: tl.constexpr):
    """(dk / scale, its tail, dv) of keys n .. n+BN-1 from the queries lowest .. past-1; all attend to full_first .. full_past-1."""
    kt = tl.trans(load_keys(k, key0, keys, n, group, 0, size.D, size.DP, size.BN))
    kt2 = tl.trans(load_keys(k, key0, keys, n, group, size.DP, size.D - size.DP, size.DT, size.BN)) if size.DT else None
    vt = tl.trans(load_keys(v, key0, keys, n, group, 0, size.E, size.EP, size.BN))
    dk, dk2 = zero_slices(size.BN, size)
    dv = tl.zeros((size.BN, size.EP), tl.float32)
    if SPLIT:
        begin, end = split_range(lowest, full_first, full_past, past, size.BM // size.G)
        dk, dk2, dv = visit_queries(q, do, lse, delta, sink, learned, kt, kt2, vt, start, length, key0, keys, lowest, begin, n, group, scale,
                                    dk, dk2, dv, extra, pattern, size, True)
        dk, dk2, dv = visit_queries(q, do, lse, delta, sink, learned, kt, kt2, vt, start, length, key0, keys, begin, end, n, group, scale,
                                    dk, dk2, dv, extra, pattern, size, False)
        dk, dk2, dv = visit_queries(q, do, lse, delta, sink, learned, kt, kt2, vt, start, length, key0, keys, end, past, n, group, scale,
                                    dk, dk2, dv, extra, pattern, size, True)
    else:
        dk, dk2, dv = visit_queries(q, do, lse, delta, sink, learned, kt, kt2, vt, start, length, key0, keys, lowest, past, n, group, scale,
                                    dk, dk2, dv, extra, pattern, size, True)
    return dk, dk2, dv


@triton.jit
def store_key_rows(x, first, group, value, tail, live, SKIP: tl.constexpr, D: tl.constexpr, DP: tl.constexpr, DT: tl.constexpr):
    """Stores rows of D columns, value [BN, DP] and tail [BN, DT], from row `first` and column SKIP of x on, where `live` is set."""
    base = x.ptr + first.to(tl.int64) * x.token + group * x.head + SKIP
    offs = tl.arange(0, live.shape[0]) * x.token
    store_rows(base, offs, value, D, DP, live)
    if DT:
        store_rows(base + DP, offs, tail, D - DP, DT, live)


@triton.jit
def backward_kv(q, k, v, do, lse, delta, dk, dv, sink, learned, CU, nseq, scale, pattern, size, SPLIT: tl.constexpr):
    """dk and dv of one tile of keys; visits the queries that may attend to them, all heads of the group. The program ids are the
    key/value head and the tile of keys."""
    tl.static_assert(size.BM // size.G > 0, "BM must hold all heads of a token")
    sequence, start, length, n = find_tile(CU, nseq, tl.program_id(1), size.BN)      # early keys, which most tokens see, first
    group = tl.program_id(0).to(tl.int64)
    if n >= length:
        return
    # The inputs are an argument: a name would make numbers of the run time of the pattern's parameters.
    gradient_of_keys(q, k, v, do, lse, delta, dk, dv, sink, learned, start, length, n, group, scale,
                     pattern.inputs if pattern.load is None else pattern.load(pattern.inputs, sequence), pattern, size, SPLIT)


@triton.jit
def gradient_of_keys(q, k, v, do, lse, delta, dk, dv, sink, learned, start, length, n, group, scale, extra, pattern, size, SPLIT: tl.constexpr):
    """`backward_kv` for the tile of keys from position n of the sequence of `length` tokens from `start` on."""
    head0 = tl.program_id(0) * size.G
    lowest, full_first, full_past, past = pattern.queries(n, tl.minimum(n + size.BN, length) - 1, length, head0, head0 + size.G - 1,
                                                          extra)
    sum1, sum2, sumv = sum_queries(q, k, v, do, lse, delta, sink, learned, start, length, start, length, n, group, lowest, full_first, full_past,
                                   past, scale, extra, pattern, size, SPLIT)
    live = n + tl.arange(0, size.BN) < length
    store_key_rows(dk, start + n, group, sum1 * scale, sum2 * scale, live, 0, size.D, size.DP, size.DT)
    store_key_rows(dv, start + n, group, sumv, None, live, 0, size.E, size.EP, 0)
