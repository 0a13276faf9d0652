# kernels/attention/forward.py - attention of a pattern, forward.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""o = softmax(score(scale * q k^T)) v over the keys that the pattern shows."""
import triton
import triton.language as tl
from kernels.attention.core import (LOG2E, change_scores, dot_slices, finish, key_range, load_queries, load_row_values, load_tile, next_visible,
                                    no_keys, query_tile, row_pointer, softmax_step, split_range, step_of, store_row_values, tile_positions,
                                    visible_keys)
from kernels.tiles import find_tile, store_rows


@triton.jit
def key_step(q, q2, k, v, tile, n, scale, learned, peak, total, acc, extra, pattern, size, MASKED: tl.constexpr):
    """The online softmax over keys n .. n+BN-1, or with runs over keys n [BN]."""
    RUNS: tl.constexpr = MASKED and size.RUN
    pos = tile_positions(n, size, RUNS)
    k1 = load_tile(k, tile, n, 0, size.D, size.DP, size, RUNS)
    k2 = load_tile(k, tile, n, size.DP, size.D - size.DP, size.DT, size, RUNS) if size.DT else None
    s = dot_slices(q, q2, k1, k2)
    s, factor = change_scores(s, tile, pos, scale, learned, extra, pattern, size.G)
    if MASKED:
        s = tl.where(visible_keys(tile, pos, extra, pattern, size.G), s, float("-inf"))
    return softmax_step(s, factor, load_tile(v, tile, n, 0, size.E, size.EP, size, RUNS), peak, total, acc)


@triton.jit
def visit_keys(q, q2, k, v, tile, first, past, scale, learned, peak, total, acc, extra, pattern, size, MASKED: tl.constexpr):
    """key_step over the tiles of keys from `first` to `past`. A masked sweep skips the tiles that no query attends to."""
    if MASKED and pattern.visible is not None:
        n = next_visible(first, past, tile, extra, pattern, size)
        while n < past:
            pos, n = step_of(n, past, tile, extra, pattern, size)
            peak, total, acc = key_step(q, q2, k, v, tile, pos, scale, learned, peak, total, acc, extra, pattern, size, True)
    else:
        for n in range(first, past, size.BN):
            peak, total, acc = key_step(q, q2, k, v, tile, n, scale, learned, peak, total, acc, extra, pattern, size, MASKED)
    return peak, total, acc


@triton.jit
def store_output(o, lse, peak, total, acc, weight, tile, size):
    """Stores o and lse of the tile's rows; the arguments are those of finish."""
    value, sums = finish(peak, total, acc, weight)
    base, offs = row_pointer(o, tile, size.G)
    store_rows(base, offs, value, size.E, size.EP, tile.live)
    store_row_values(lse, sums, tile, size.G)


@triton.jit
def forward(q, k, v, o, lse, sink, learned, CU, nseq, scale, pattern, size, SPLIT: tl.constexpr, KEYS=None):
    """One tile of queries of one key/value head. The program ids are the tile of tokens and the key/value head.

    SPLIT gives the keys that all queries attend to a loop without masks. sink [T, H*G] holds scores that join the denominator, or is
    None. learned [T, H*G] holds the numbers that the pattern's score reads, or is None. lse is the natural logarithm of the sum of
    exponentials, without the sink. A row without keys has o = 0 and lse = -inf. KEYS are prefix sums of the keys of each sequence, or None
    where the keys are the tokens.
    """
    tl.static_assert(size.BM // size.G > 0, "BM must hold all heads of a token")
    number = tl.num_programs(0) - 1 - tl.program_id(0)      # late tokens, which see most keys, first
    sequence, start, length, first = find_tile(CU, nseq, number, size.BM // size.G)
    if first >= length:
        return
    key0, keys = key_range(KEYS, sequence, start, length)
    tile = query_tile(start, length, first, tl.program_id(1).to(tl.int64), key0, keys, size.G, size.BM)
    # The inputs are an argument: a name would make numbers of the run time of the pattern's parameters.
    forward_tile(q, k, v, o, lse, sink, learned, tile, first, length, scale,
                 pattern.inputs if pattern.load is None else pattern.load(pattern.inputs, sequence), pattern, size, SPLIT)


@triton.jit
def forward_tile(q, k, v, o, lse, sink, learned, tile, first, length, scale, extra, pattern, size, SPLIT: tl.constexpr):
    """`forward` for the tile of queries from position `first` of a sequence of `length` tokens on."""
    q1 = load_queries(q, tile, size.G, 0, size.D, size.DP)
    q2 = load_queries(q, tile, size.G, size.DP, size.D - size.DP, size.DT) if size.DT else None
    number = load_row_values(learned, tile, size.G)[:, None] if learned is not None else None
    head0 = tl.program_id(1) * size.G
    lowest, full_first, full_past, past = pattern.keys(first, tl.minimum(first + size.BM // size.G, length) - 1, length, head0,
                                                       head0 + size.G - 1, extra)
    lowest = lowest // size.BN * size.BN

    peak, total, acc = no_keys(size)
    if SPLIT:
        begin, end = split_range(lowest, full_first, full_past, past, size.BN)
        peak, total, acc = visit_keys(q1, q2, k, v, tile, lowest, begin, scale, number, peak, total, acc, extra, pattern, size, True)
        peak, total, acc = visit_keys(q1, q2, k, v, tile, begin, end, scale, number, peak, total, acc, extra, pattern, size, False)
        peak, total, acc = visit_keys(q1, q2, k, v, tile, end, past, scale, number, peak, total, acc, extra, pattern, size, True)
    else:
        peak, total, acc = visit_keys(q1, q2, k, v, tile, lowest, past, scale, number, peak, total, acc, extra, pattern, size, True)

    weight = total
    if sink is not None:
        weight = total + tl.exp2(load_row_values(sink, tile, size.G) * LOG2E - peak)
    store_output(o, lse, peak, total, acc, weight, tile, size)
