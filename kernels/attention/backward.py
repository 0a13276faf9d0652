# kernels/attention/backward.py - attention of a pattern, backward in one pass: all gradients by one kernel.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""dq, dk, dv as in backward_q.py and backward_kv.py, which compute every score twice: seven products of matrices, here five. dq stays in
registers; dk and dv are added up in fp32 memory, tile of keys by tile of keys, by the one program that may write there."""
import triton
import triton.language as tl
from kernels.attention.backward_q import add_learned, load_query_rows, no_sums, probabilities, product_gradient, store_dq, store_learned
from kernels.attention.core import Rows, counted_keys, load_tile, query_tile, tile_positions, visit_keys
from kernels.tiles import load_live_rows, store_rows


@triton.jit
def add_to_keys(x, a, b, n, tile, N: tl.constexpr, NP: tl.constexpr, RUNS: tl.constexpr):
    """Adds a^T b, [BN, NP], to rows n .. n+BN-1 of the sequence's keys in x, or with RUNS to rows n [BN], which all differ."""
    if RUNS:
        base = x.ptr + tile.key0.to(tl.int64) * x.token + tile.group * x.head
        offs = n.to(tl.int64) * x.token
        live = n < tile.keys
    else:
        key = tl.arange(0, a.shape[1])
        base = x.ptr + (tile.key0 + n).to(tl.int64) * x.token + tile.group * x.head
        offs = key * x.token
        live = key < tile.keys - n
    store_rows(base, offs, tl.dot(tl.trans(a), b, load_live_rows(base, offs, live, N, NP)), N, NP, live)


@triton.jit
def key_step(inputs, state, tile, n, extra, pattern, size, MASKED: tl.constexpr):
    """Adds to all gradients what the tile's queries and keys n .. n+BN-1, or with runs keys n [BN], contribute. inputs are QueryRows, k, v, dk, dv and scale; state is dq,
    [BM, DP], and the sums for the learned numbers."""
    rows, k, v, dk, dv, scale = inputs
    dq, sums = state
    RUNS: tl.constexpr = MASKED and size.RUN
    pos = tile_positions(n, size, RUNS)
    k1 = load_tile(k, tile, n, 0, size.D, size.DP, size, RUNS)
    v1 = load_tile(v, tile, n, 0, size.E, size.EP, size, RUNS)
    keep = counted_keys(tile, pos, extra, pattern, size, MASKED)
    s = tl.dot(rows.q, tl.trans(k1))
    p = probabilities(s, tile, pos, scale, rows.learned, rows.total, keep, extra, pattern, size.G)
    raw = p * (tl.dot(rows.do, tl.trans(v1)) - rows.delta[:, None])
    add_to_keys(dv, p.to(rows.do.dtype), rows.do, n, tile, size.E, size.EP, RUNS)
    if pattern.learned_grad is not None:
        sums = add_learned(sums, s, p, raw, tile, pos, scale, rows.learned, keep, extra, pattern, size.G)
    ds = (product_gradient(s, raw, tile, pos, scale, rows.learned, keep, extra, pattern, size.G) * scale).to(k1.dtype)
    add_to_keys(dk, ds, rows.q, n, tile, size.D, size.DP, RUNS)
    return tl.dot(ds, k1, dq), sums


@triton.jit
def query_step(q, k, v, do, lse, delta, dq, dk, dv, sink, dsink, learned, dlearned, tile, scale, extra, pattern, size, SPLIT: tl.constexpr):
    """The gradients of the tile's queries, and what the queries contribute to dk and dv."""
    rows = load_query_rows(q, do, lse, delta, sink, learned, tile, size)
    value, _, sums = no_sums(size)
    value, sums = visit_keys(key_step, (rows, k, v, dk, dv, scale), (value, sums), tile, extra, pattern, size, SPLIT, True)
    store_dq(dq, value, None, tile, size, 0)
    store_learned(dsink, dlearned, sums, rows, tile, size)


@triton.jit
def clear_keys(x, tile, N: tl.constexpr, NP: tl.constexpr, BN: tl.constexpr):
    """Stores zeros in the rows of the sequence's keys in x."""
    for n in range(0, tile.keys, BN):
        base = x.ptr + (tile.key0 + n).to(tl.int64) * x.token + tile.group * x.head
        store_rows(base, tl.arange(0, BN) * x.token, tl.zeros((BN, NP), tl.float32), N, NP, tl.arange(0, BN) < tile.keys - n)


@triton.jit
def backward(q, k, v, do, lse, delta, dq, dk, dv, sink, dsink, learned, dlearned, CU, tokens, shares, scale, pattern, size, SPLIT: tl.constexpr):
    """All gradients of one share of the queries of a key/value head of a sequence. The program ids are the key/value head, the sequence and
    the share: of `shares` programs the first takes the tiles of queries 0, shares, 2 * shares and so on. dk and dv are fp32, [shares, tokens,
    heads, width], one part for each share: their sums in ascending order are the gradients. The other arguments are as in backward_q and
    backward_kv. Heads have one slice: DT is 0.
    """
    BT: tl.constexpr = size.BM // size.G
    tl.static_assert(BT > 0, "BM must hold all heads of a token")
    tl.static_assert(size.DT == 0, "the backward pass in one pass takes heads of one slice")
    part = tl.program_id(2)
    start = tl.load(CU + tl.program_id(1))
    length = tl.load(CU + tl.program_id(1) + 1) - start
    group = tl.program_id(0).to(tl.int64)
    keys = Rows(dk.ptr + part.to(tl.int64) * tokens * dk.token, dk.token, dk.head)
    values = Rows(dv.ptr + part.to(tl.int64) * tokens * dv.token, dv.token, dv.head)
    sequence = query_tile(start, length, 0, group, start, length, size.G, size.BM)
    clear_keys(keys, sequence, size.D, size.DP, size.BN)
    clear_keys(values, sequence, size.E, size.EP, size.BN)
    tl.debug_barrier()                           # the threads that clear an element may not be those that add to it
    for first in range(part * BT, length, shares * BT):
        tile = query_tile(start, length, first, group, start, length, size.G, size.BM, True)
        # Pass the inputs directly as an argument. If a local variable held them, the compile-time parameters of the pattern would become
        # run-time values.
        query_step(q, k, v, do, lse, delta, dq, keys, values, sink, dsink, learned, dlearned, tile, scale,
                   pattern.inputs if pattern.load is None else pattern.load(pattern.inputs, tl.program_id(1)), pattern, size, SPLIT)
