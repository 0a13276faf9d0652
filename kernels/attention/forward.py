# kernels/attention/forward.py - attention of a pattern, forward.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""o = softmax(score(scale * q k^T)) v over the keys that the pattern shows."""
import triton
import triton.language as tl
from kernels.attention.core import (LOG2E, change_scores, dot_slices, finish, key_range, load_query_slices, load_row_values, load_tile, load_tile_slices,
                                    no_keys, query_tile, row_pointer, softmax_step, store_row_values, tile_positions, visible_keys, visit_keys)
from kernels.tiles import find_tile, store_rows


@triton.jit
def key_step(inputs, state, tile, n, extra, pattern, size, MASKED: tl.constexpr):
    """One step of the online softmax over keys n .. n+BN-1; for a masked tile of runs, n are the positions [BN] of the keys.

    inputs: both slices of the queries, [BM, DP] and [BM, DT], k, v, scale, and the learned number of each row, [BM, 1] or 0.0. state: acc,
    peak and total of softmax_step. MASKED applies the pattern's mask."""
    q, q2, k, v, scale, learned = inputs
    acc, peak, total = state
    RUNS: tl.constexpr = MASKED and size.RUN
    pos = tile_positions(n, size, RUNS)
    k1, k2 = load_tile_slices(k, tile, n, size, RUNS)
    s, factor = change_scores(dot_slices(q, q2, k1, k2, size.DT), tile, pos, scale, learned, extra, pattern, size.G)
    if MASKED:
        s = tl.where(visible_keys(tile, pos, extra, pattern, size.G), s, float("-inf"))
    v1 = load_tile(v, tile, n, 0, size.E, size.EP, size, RUNS)
    peak, total, acc = softmax_step(s, factor, v1, peak, total, acc)
    return acc, peak, total


@triton.jit
def store_output(o, lse, peak, total, acc, weight, tile, size):
    """Stores o and, unless it is None, lse of the tile's rows; the other arguments are those of finish."""
    value, sums = finish(peak, total, acc, weight)
    base, offs = row_pointer(o, tile, size.G)
    store_rows(base, offs, value, size.E, size.EP, tile.live)
    if lse is not None:
        store_row_values(lse, sums, tile, size.G)


@triton.jit
def forward(q, k, v, o, lse, sink, learned, CU, nseq, scale, pattern, size, SPLIT: tl.constexpr, KEYS=None):
    """One tile of queries of one key/value head. The program ids are the tile of tokens and the key/value head.

    With SPLIT, a separate loop without masks handles the keys that all queries attend to. sink [T, H*G] holds scores that join the
    denominator, or is None. learned [T, H*G] holds the numbers that the pattern's score reads, or is None. lse is the natural logarithm of
    the sum of exponentials, without the sink. A row without keys has o = 0 and lse = -inf. KEYS are prefix sums of the keys of each
    sequence, or None where the keys are the tokens.
    """
    tl.static_assert(size.BM // size.G > 0, "BM must hold all heads of a token")
    number = tl.num_programs(0) - 1 - tl.program_id(0)      # late tokens, which see most keys, first
    sequence, start, length, first = find_tile(CU, nseq, number, size.BM // size.G)
    if first >= length:
        return
    key0, keys = key_range(KEYS, sequence, start, length)
    tile = query_tile(start, length, first, tl.program_id(1).to(tl.int64), key0, keys, size.G, size.BM)
    # Pass the inputs directly as an argument. If a local variable held them, the compile-time parameters of the pattern would become
    # run-time values.
    forward_tile(q, k, v, o, lse, sink, learned, tile, scale,
                 pattern.inputs if pattern.load is None else pattern.load(pattern.inputs, sequence), pattern, size, SPLIT)


@triton.jit
def forward_tile(q, k, v, o, lse, sink, learned, tile, scale, extra, pattern, size, SPLIT: tl.constexpr):
    """`forward` for one tile of queries. Stores no lse where that is None."""
    q1, q2 = load_query_slices(q, tile, size)
    number = load_row_values(learned, tile, size.G)[:, None] if learned is not None else 0.0
    acc, peak, total = visit_keys(key_step, (q1, q2, k, v, scale, number), no_keys(size), tile, extra, pattern, size, SPLIT)
    weight = total
    if sink is not None:
        weight = total + tl.exp2(load_row_values(sink, tile, size.G) * LOG2E - peak)
    store_output(o, lse, peak, total, acc, weight, tile, size)
