# kernels/attention/backward_kv.py - attention of a pattern, backward: the gradients of keys and values.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""dv = p^T do and dk = scale * ds^T q, with p and ds as in backward_q.py (FlashAttention 2, algorithm 2)."""
import triton
import triton.language as tl
from kernels.attention.backward_q import log_denominator, probabilities, product_gradient
from kernels.attention.core import (any_visible, counted_keys, load_key_slices, load_keys, load_queries, load_row_values, query_tile, split_range,
                                    zero_slices)
from kernels.tiles import find_tile, store_rows


@triton.jit
def query_step(inputs, state, tile, n, extra, pattern, size, MASKED: tl.constexpr):
    """Adds what a tile of queries contributes to `state`: both slices of dk / scale, [BN, DP] and [BN, DT], and dv [BN, EP], of keys n .. n+BN-1.
    inputs are q, do, lse, delta, sink, learned, the key_columns and scale."""
    q, do, lse, delta, sink, learned, columns, scale = inputs
    kt, kt2, vt = columns
    dk, dk2, dv = state
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
    keep = counted_keys(tile, pos, extra, pattern, size, MASKED)
    p = probabilities(s, tile, pos, scale, number, total, keep, extra, pattern, size.G)
    dv = tl.dot(tl.trans(p.to(do1.dtype)), do1, dv)
    ds = product_gradient(s, p * (tl.dot(do1, vt) - change[:, None]), tile, pos, scale, number, keep, extra, pattern, size.G)
    dk = tl.dot(tl.trans(ds.to(q1.dtype)), q1, dk)
    if size.DT:
        dk2 = tl.dot(tl.trans(ds.to(q1.dtype)), q2, dk2)
    return dk, dk2, dv


@triton.jit
def key_columns(k, v, key0, keys, n, head, size):
    """Keys n .. n+BN-1 of key/value head `head` as columns, both slices [DP, BN] and [DT, BN], and the values as columns, [EP, BN]."""
    k1, k2 = load_key_slices(k, key0, keys, n, head, size)
    return tl.trans(k1), tl.trans(k2) if size.DT else 0.0, tl.trans(load_keys(v, key0, keys, n, head, 0, size.E, size.EP, size.BN))


@triton.jit
def no_queries(size):
    """The state of query_step before the first query."""
    dk, tail = zero_slices(size.BN, size)
    return dk, tail, tl.zeros((size.BN, size.EP), tl.float32)


@triton.jit
def sum_queries(inputs, start, length, key0, keys, n, group, lowest, full_first, full_past, past, extra, pattern, size, SPLIT: tl.constexpr):
    """The state of query_step for keys n .. n+BN-1 after the queries lowest .. past-1; all attend to full_first .. full_past-1. A masked
    sweep skips the tiles of queries that attend to none of the keys."""
    state = no_queries(size)
    bounds = split_range(lowest, full_first, full_past, past, size.BM // size.G, SPLIT)
    for i in tl.static_range(0, 3 if SPLIT else 1):
        for t0 in range(bounds[i], bounds[i + 1], size.BM // size.G):
            tile = query_tile(start, length, t0, group, key0, keys, size.G, size.BM, True)
            if i != 1 and pattern.visible is not None:
                if any_visible(t0, n, length, keys, group, extra, pattern, size, size.BN):
                    state = query_step(inputs, state, tile, n, extra, pattern, size, True)
            else:
                state = query_step(inputs, state, tile, n, extra, pattern, size, i != 1)
    return state


@triton.jit
def store_key_rows(x, first, group, value, tail, live, SKIP: tl.constexpr, D: tl.constexpr, DP: tl.constexpr, DT: tl.constexpr):
    """Stores rows of D columns, value [BN, DP] and tail [BN, DT], from row `first` and column SKIP of x on, where `live` is set."""
    base = x.ptr + first.to(tl.int64) * x.token + group * x.head + SKIP
    offs = tl.arange(0, live.shape[0]) * x.token
    store_rows(base, offs, value, D, DP, live)
    if DT:
        store_rows(base + DP, offs, tail, D - DP, DT, live)


@triton.jit
def store_gradients(dk, dv, first, group, sums, scale, live, SKIP: tl.constexpr, size):
    """Stores dk and dv of BN keys from row `first` on, where `live` is set: the state of query_step, with dk times `scale`. dv begins at column
    SKIP of its rows."""
    store_key_rows(dk, first, group, sums[0] * scale, sums[1] * scale, live, 0, size.D, size.DP, size.DT)
    store_key_rows(dv, first, group, sums[2], None, live, SKIP, size.E, size.EP, 0)


@triton.jit
def backward_kv(q, k, v, do, lse, delta, dk, dv, sink, learned, CU, nseq, scale, pattern, size, SPLIT: tl.constexpr):
    """dk and dv of one tile of keys; visits the queries that may attend to them, all heads of the group. The program ids are the
    key/value head and the tile of keys."""
    tl.static_assert(size.BM // size.G > 0, "BM must hold all heads of a token")
    sequence, start, length, n = find_tile(CU, nseq, tl.program_id(1), size.BN)      # early keys, which most tokens see, first
    group = tl.program_id(0).to(tl.int64)
    if n >= length:
        return
    # Pass the inputs directly as an argument. If a local variable held them, the compile-time parameters of the pattern would become
    # run-time values.
    gradient_of_keys(q, k, v, do, lse, delta, dk, dv, sink, learned, start, length, n, group, scale,
                     pattern.inputs if pattern.load is None else pattern.load(pattern.inputs, sequence), pattern, size, SPLIT)


@triton.jit
def gradient_of_keys(q, k, v, do, lse, delta, dk, dv, sink, learned, start, length, n, group, scale, extra, pattern, size, SPLIT: tl.constexpr):
    """`backward_kv` for the tile of keys from position n of the sequence of `length` tokens from `start` on."""
    head0 = tl.program_id(0) * size.G
    lowest, full_first, full_past, past = pattern.queries(n, tl.minimum(n + size.BN, length) - 1, length, head0, head0 + size.G - 1,
                                                          extra)
    columns = key_columns(k, v, start, length, n, group, size)
    sums = sum_queries((q, do, lse, delta, sink, learned, columns, scale), start, length, start, length, n, group, lowest, full_first, full_past,
                       past, extra, pattern, size, SPLIT)
    store_gradients(dk, dv, start + n, group, sums, scale, n + tl.arange(0, size.BN) < length, 0, size)
