# kernels/attention/backward_q.py - attention of a pattern, backward: the gradient of the queries.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""p = exp(score - lse), ds = p * (do v^T - delta) * score_grad, dq = scale * ds k (FlashAttention 2, algorithm 2); delta is the sum of
o * do over a row. With a sink the denominator of p includes it, as in the forward pass."""
from typing import NamedTuple

import triton
import triton.language as tl
from kernels.attention.core import (LOG2E, change_scores, dot_slices, key_range, load_queries, load_query_slices, load_row_values, load_tile,
                                    query_tile, row_pointer, store_row_values, tile_positions, visible_keys, visit_keys, zero_slices)
from kernels.tiles import add_rows, find_tile


@triton.jit
def log_denominator(lse, sink, tile, G: tl.constexpr, COMPLETE: tl.constexpr = False):
    """Base-2 logarithm of each row's denominator, [BM], and the share of the sink in it, [BM] (0 without a sink, and where the denominator
    is 0 or infinite: o is 0 there, and so is the sink's gradient). COMPLETE: lse contains the sink."""
    total = load_row_values(lse, tile, G) * LOG2E
    share = 0.0
    if sink is not None:
        score = load_row_values(sink, tile, G) * LOG2E
        if not COMPLETE:
            top = tl.maximum(total, score)
            top = tl.where(tl.abs(top) == float("inf"), 0.0, top)
            total = top + tl.log2(tl.exp2(total - top) + tl.exp2(score - top))
        share = tl.where(tl.abs(total) == float("inf"), 0.0, tl.exp2(score - total))
    return total, share


@triton.jit
def probabilities(s, tile, pos, scale, learned, total, keep, extra, pattern, G: tl.constexpr):
    """p = exp(score - lse), [BM, BN], from the products s of queries and keys. keep [BM, BN] tells which keys count, or is None where
    all do."""
    if pattern.score is not None:                # which may be -inf for every key of a row
        total = tl.where(total == float("-inf"), 0.0, total)
    score, factor = change_scores(s, tile, pos, scale, learned, extra, pattern, G)
    p = tl.exp2(score * factor - total[:, None])
    if keep is not None:
        p = tl.where(keep, p, 0.0)
    return p


@triton.jit
def product_gradient(s, raw, tile, pos, scale, learned, keep, extra, pattern, G: tl.constexpr):
    """The gradient of scale * q k^T, [BM, BN], from that of the score, raw = p * (do v^T - delta)."""
    ds = raw
    if pattern.score_grad is not None:
        head = (tile.group.to(tl.int32) * G + tile.row)[:, None]
        ds = raw * pattern.score_grad(s * scale, tile.t[:, None], pos[None, :], head, extra, learned)
        if keep is not None:                     # the slope of a score that does not count may be infinite
            ds = tl.where(keep, ds, 0.0)
    return ds


class QueryRows(NamedTuple):
    """What the backward pass reads of the rows of a tile of queries."""
    q: tl.tensor        # [BM, DP]
    q2: tl.tensor       # [BM, DT], or 0.0 where the first slice holds all columns
    do: tl.tensor       # [BM, EP]
    learned: tl.tensor  # [BM, 1] the learned number, or 0.0 without one
    total: tl.tensor    # [BM] log_denominator
    share: tl.tensor    # [BM] of the sink in the denominator, or 0.0 without a sink
    delta: tl.tensor    # [BM]


@triton.jit
def load_query_rows(q, do, lse, delta, sink, learned, tile, size, COMPLETE: tl.constexpr = False):
    """The QueryRows of a tile; sink and learned may be None, COMPLETE as in log_denominator."""
    q1, q2 = load_query_slices(q, tile, size)
    do1 = load_queries(do, tile, size.G, 0, size.E, size.EP)
    number = load_row_values(learned, tile, size.G)[:, None] if learned is not None else 0.0
    total, share = log_denominator(lse, sink, tile, size.G, COMPLETE)
    return QueryRows(q1, q2, do1, number, total, share, load_row_values(delta, tile, size.G))


class LearnedSums(NamedTuple):
    """Sums over the keys of each row, [BM], from which the gradient of the learned number follows; raw is p * (dp - delta)."""
    raw: tl.tensor
    slope: tl.tensor    # of p * d score / d learned
    product: tl.tensor  # of raw * d score / d learned


@triton.jit
def no_sums(size):
    """The state of key_step before the first key: both slices of dq / scale, [BM, DP] and [BM, DT], and the sums for the learned numbers."""
    zeros = tl.zeros((size.BM,), tl.float32)
    dq, tail = zero_slices(size.BM, size)
    return dq, tail, LearnedSums(zeros, zeros, zeros)


@triton.jit
def add_learned(sums, s, p, raw, tile, pos, scale, learned, keep, extra, pattern, G: tl.constexpr):
    """Adds one tile of keys to the sums; keep is as in probabilities."""
    head = (tile.group.to(tl.int32) * G + tile.row)[:, None]
    slope = pattern.learned_grad(s * scale, tile.t[:, None], pos[None, :], head, extra, learned)
    weighted, product = p * slope, raw * slope
    if keep is not None:                         # p may be infinite where a key does not count
        weighted, product = tl.where(keep, weighted, 0.0), tl.where(keep, product, 0.0)
    return LearnedSums(sums.raw + tl.sum(raw, 1), sums.slope + tl.sum(weighted, 1), sums.product + tl.sum(product, 1))


@triton.jit
def learned_gradient(sums, share, delta):
    """The gradient of each row's learned number, [BM].

    It is the sum of raw * slope, in which an error e of delta would appear as e * sum(p * slope): large where the slopes are, as the
    distances of ALiBi. sum(raw) is share * delta without the error (share is the sink's part of the denominator), so that e is known.
    """
    return sums.product + (share * delta - sums.raw) * sums.slope


@triton.jit
def key_step(inputs, state, tile, n, extra, pattern, size, MASKED: tl.constexpr, SCORES_FIRST: tl.constexpr = False):
    """Adds what keys n .. n+BN-1, or with runs keys n [BN], contribute to dq / scale and to the sums for the learned numbers, `state`. inputs are QueryRows, k, v and scale.
    SCORES_FIRST is the order for few rows: with two slices, tiles of many rows need fewer registers if do v^T comes before q k^T."""
    rows, k, v, scale = inputs
    dq, dq2, sums = state
    RUNS: tl.constexpr = MASKED and size.RUN
    pos = tile_positions(n, size, RUNS)
    k1 = load_tile(k, tile, n, 0, size.D, size.DP, size, RUNS)
    v1 = load_tile(v, tile, n, 0, size.E, size.EP, size, RUNS)
    keep = visible_keys(tile, pos, extra, pattern, size.G) if MASKED else None
    k2 = load_tile(k, tile, n, size.DP, size.D - size.DP, size.DT, size, RUNS) if size.DT else None
    if size.DT and not SCORES_FIRST:
        dp = tl.dot(rows.do, tl.trans(v1))
        s = tl.dot(rows.q, tl.trans(k1), tl.dot(rows.q2, tl.trans(k2)))
        p = probabilities(s, tile, pos, scale, rows.learned, rows.total, None, extra, pattern, size.G)
        raw = p * (dp - rows.delta[:, None])
        if MASKED:
            raw = tl.where(keep, raw, 0.0)
    else:
        s = dot_slices(rows.q, rows.q2, k1, k2, size.DT)
        p = probabilities(s, tile, pos, scale, rows.learned, rows.total, keep, extra, pattern, size.G)
        raw = p * (tl.dot(rows.do, tl.trans(v1)) - rows.delta[:, None])
    ds = product_gradient(s, raw, tile, pos, scale, rows.learned, keep, extra, pattern, size.G)
    if pattern.learned_grad is not None:
        sums = add_learned(sums, s, p, raw, tile, pos, scale, rows.learned, keep, extra, pattern, size.G)
    dq = tl.dot(ds.to(k1.dtype), k1, dq)
    if size.DT:
        dq2 = tl.dot(ds.to(k1.dtype), k2, dq2)
    return dq, dq2, sums


@triton.jit
def store_dq(dq, value, tail, tile, size, ACCUMULATE: tl.constexpr):
    """Stores the gradient of the tile's queries, value [BM, DP] and tail [BM, DT], or with ACCUMULATE adds it to what dq contains."""
    base, offs = row_pointer(dq, tile, size.G)
    add_rows(base, offs, value, size.D, size.DP, tile.live, ACCUMULATE)
    if size.DT:
        add_rows(base + size.DP, offs, tail, size.D - size.DP, size.DT, tile.live, ACCUMULATE)


@triton.jit
def store_learned(dsink, dlearned, sums, rows, tile, size):
    """Stores the gradients of the tile's sink and learned number, unless they are None."""
    if dsink is not None:
        store_row_values(dsink, -rows.share * rows.delta, tile, size.G)
    if dlearned is not None:
        store_row_values(dlearned, learned_gradient(sums, rows.share, rows.delta), tile, size.G)


@triton.jit
def backward_q(q, k, v, do, lse, delta, dq, sink, dsink, learned, dlearned, CU, nseq, scale, pattern, size, SPLIT: tl.constexpr,
               ACCUMULATE: tl.constexpr = 0, KEYS=None):
    """dq of one tile of queries; visits the keys that the forward pass visits. dsink and dlearned [T, H*G] receive the gradients of
    sink and learned, and are None where those are. With ACCUMULATE the gradient is added to what dq contains."""
    tl.static_assert(size.BM // size.G > 0, "BM must hold all heads of a token")
    number = tl.num_programs(0) - 1 - tl.program_id(0)      # late tokens, which see most keys, first
    sequence, start, length, first = find_tile(CU, nseq, number, size.BM // size.G)
    if first >= length:
        return
    key0, keys = key_range(KEYS, sequence, start, length)
    tile = query_tile(start, length, first, tl.program_id(1).to(tl.int64), key0, keys, size.G, size.BM)
    # Pass the inputs directly as an argument. If a local variable held them, the compile-time parameters of the pattern would become
    # run-time values.
    gradient_of_tile(q, k, v, do, lse, delta, dq, sink, dsink, learned, dlearned, tile, scale,
                     pattern.inputs if pattern.load is None else pattern.load(pattern.inputs, sequence), pattern, size, SPLIT, ACCUMULATE)


@triton.jit
def gradient_of_tile(q, k, v, do, lse, delta, dq, sink, dsink, learned, dlearned, tile, scale, extra, pattern, size, SPLIT: tl.constexpr,
                     ACCUMULATE: tl.constexpr):
    """`backward_q` for one tile of queries."""
    rows = load_query_rows(q, do, lse, delta, sink, learned, tile, size)
    value, tail, sums = visit_keys(key_step, (rows, k, v, scale), no_sums(size), tile, extra, pattern, size, SPLIT)
    store_dq(dq, value * scale, tail * scale, tile, size, ACCUMULATE)
    store_learned(dsink, dlearned, sums, rows, tile, size)
