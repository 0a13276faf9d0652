# kernels/attention/core.py - what the passes of attention share: tiles of queries and keys, scores, the online softmax.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Shapes: q [T, H*G, D], k [T, H, D], v [T, H, E], o [T, H*G, E], lse and delta [T, H*G]. T counts the tokens of all sequences, H the
key/value heads, G the query heads of each key/value head. A tile of queries has BM rows: BM // G tokens with all G query heads of one
key/value head. A head width that is not a power of two is read in two slices, the first DP columns and a tail of DT columns.
"""
from typing import NamedTuple

import triton
import triton.language as tl
from kernels.tiles import load_rows

LOG2E: tl.constexpr = tl.constexpr(1.4426950408889634)
LN2: tl.constexpr = tl.constexpr(0.6931471805599453)


class Rows(NamedTuple):
    """A tensor [T, heads, width] or [T, heads]: its first element, and the strides of tokens and heads in elements."""
    ptr: tl.tensor
    token: tl.tensor
    head: tl.tensor


class Pattern(NamedTuple):
    """Which keys a query attends to, and what changes a score. Functions that are None have no effect.

    `inputs` is a tuple of everything that the functions read besides positions and heads; `extra` is that tuple after `load`, which
    replaces pointers by the values of one sequence. `learned` is the learned number of each row, [BM, 1]. keys and queries return
    (first, full_first, full_past, past): nothing outside first .. past-1 is visible, and everything in full_first .. full_past-1 is
    visible to all.
    """
    inputs: tl.tensor
    mask: tl.tensor             # (t, pos, head, extra) -> bool: whether the query at position t attends to the key at position pos
    keys: tl.tensor             # (t0, t1, length, head0, head1, extra): the keys that queries t0 to t1 attend to
    queries: tl.tensor          # (pos0, pos1, length, head0, head1, extra): the queries that attend to keys pos0 to pos1
    visible: tl.tensor = None   # (t0, t1, pos0, pos1, head0, head1, extra) -> bool: whether any of the queries attends to any of the keys
    score: tl.tensor = None     # (s, t, pos, head, extra, learned) -> the score that the softmax uses; s is q.k * scale
    score_grad: tl.tensor = None    # (s, t, pos, head, extra, learned) -> d score / d s
    learned_grad: tl.tensor = None  # (s, t, pos, head, extra, learned) -> d score / d learned
    load: tl.tensor = None      # (inputs, sequence) -> extra
    causal: tl.constexpr = False    # the mask shows no key after the query, so none past the end of the sequence
    idle: tl.constexpr = False      # the mask shows no key to position -1 and reads no memory there: rows that are not live are given -1


class Sizes(NamedTuple):
    """The compile-time sizes of an attention kernel."""
    G: tl.constexpr     # query heads of a key/value head
    D: tl.constexpr     # width of queries and keys
    DP: tl.constexpr    # columns of the first slice, a power of two
    DT: tl.constexpr    # columns of the tail, a power of two, or 0
    E: tl.constexpr     # width of values
    EP: tl.constexpr    # E rounded up to a power of two
    BM: tl.constexpr    # rows of a tile of queries
    BN: tl.constexpr    # keys of a tile
    RUN: tl.constexpr = 0   # adjacent keys of a masked tile, where it consists of several runs; 0 if all its keys are adjacent


class Tile(NamedTuple):
    """Rows of queries of one sequence and key/value head. Rows past the sequence's end repeat its last token and are not live."""
    start: tl.tensor    # the sequence's first token in the packed tensors
    length: tl.tensor   # tokens of the sequence
    first: tl.tensor    # position of the tile's first token
    group: tl.tensor    # key/value head, or the list of blocks if keys_of_list rebases the keys; int64
    t: tl.tensor        # [BM] position of each row's token
    row: tl.tensor      # [BM] head of each row inside the group, 0 .. G-1
    live: tl.tensor     # [BM] whether the row exists
    key0: tl.tensor     # the sequence's first key in the packed tensors
    keys: tl.tensor     # keys of the sequence


@triton.jit
def query_tile(start, length, first, group, key0, keys, G: tl.constexpr, BM: tl.constexpr, MOVES: tl.constexpr = False):
    """The tile of the BM // G tokens from position `first` on. MOVES: `first` changes in a loop; the sums are then in an order that
    leaves less to compute inside the loop."""
    rows = tl.arange(0, BM)
    if MOVES:
        t = first + tl.minimum(rows // G, length - 1 - first)
    else:
        t = tl.minimum(first + rows // G, length - 1)
    return Tile(start, length, first, group, t, rows % G, rows // G < tl.minimum(BM // G, length - first), key0, keys)


@triton.jit
def row_pointer(x, tile, G: tl.constexpr):
    """Pointer to the tile's first row in tensor x, and the offset of each row from it."""
    base = x.ptr + (tile.start + tile.first).to(tl.int64) * x.token + tile.group * G * x.head
    return base, (tile.t - tile.first) * x.token + tile.row * x.head


@triton.jit
def load_queries(x, tile, G: tl.constexpr, SKIP: tl.constexpr, N: tl.constexpr, NP: tl.constexpr):
    """Columns SKIP .. SKIP+N-1 of the tile's rows of x, [BM, NP]; columns from N on are zero."""
    base, offs = row_pointer(x, tile, G)
    return load_rows(base + SKIP, offs, N, NP)


@triton.jit
def load_query_slices(x, tile, size):
    """Both slices of the tile's rows of x, [BM, DP] and [BM, DT]; the second is 0.0 where the first holds all columns."""
    head = load_queries(x, tile, size.G, 0, size.D, size.DP)
    return head, load_queries(x, tile, size.G, size.DP, size.D - size.DP, size.DT) if size.DT else 0.0


@triton.jit
def load_row_values(x, tile, G: tl.constexpr):
    """One number for each row of the tile, [BM]."""
    base, offs = row_pointer(x, tile, G)
    return tl.load(base + offs)


@triton.jit
def store_row_values(x, value, tile, G: tl.constexpr):
    """Stores one number for each live row of the tile."""
    base, offs = row_pointer(x, tile, G)
    tl.store(base + offs, value, mask=tile.live)


@triton.jit
def key_range(KEYS, sequence, start, length):
    """First key and number of keys of a sequence. KEYS are prefix sums of the keys, or None where tokens are the keys."""
    if KEYS is not None:
        start = tl.load(KEYS + sequence)
        length = tl.load(KEYS + sequence + 1) - start
    return start, length


@triton.jit
def load_keys(x, key0, keys, n, group, SKIP: tl.constexpr, N: tl.constexpr, NP: tl.constexpr, BN: tl.constexpr):
    """Columns SKIP .. SKIP+N-1 of keys n .. n+BN-1 of x, [BN, NP]; keys past the end repeat the last one."""
    key = tl.minimum(tl.arange(0, BN), keys - 1 - n)
    return load_rows(x.ptr + (key0 + n).to(tl.int64) * x.token + group * x.head + SKIP, key * x.token, N, NP)


@triton.jit
def load_key_slices(x, key0, keys, n, group, size):
    """Both slices of keys n .. n+BN-1 of x, [BN, DP] and [BN, DT]; the second is 0.0 where the first holds all columns."""
    head = load_keys(x, key0, keys, n, group, 0, size.D, size.DP, size.BN)
    return head, load_keys(x, key0, keys, n, group, size.DP, size.D - size.DP, size.DT, size.BN) if size.DT else 0.0


@triton.jit
def split_range(first, full_first, full_past, past, STEP: tl.constexpr, SPLIT: tl.constexpr):
    """Bounds of the sweeps over the tiles of STEP entries from `first` to `past`: one sweep that masks, or with SPLIT three, the second of
    which visits the wholly visible tiles. Without such tiles the first two sweeps are empty."""
    bounds = (first, past)
    if SPLIT:
        begin = first + (tl.maximum(full_first - first, 0) + STEP - 1) // STEP * STEP
        end = first + tl.maximum(tl.minimum(full_past, past) - first, 0) // STEP * STEP
        bounds = (first, tl.where(begin < end, begin, first), tl.where(begin < end, end, first), past)
    return bounds


@triton.jit
def change_scores(s, tile, pos, scale, learned, extra, pattern, G: tl.constexpr):
    """The products s [BM, BN] of queries and keys as scores of the softmax, and the factor that converts scores to base-2
    exponents (for exp2)."""
    factor = LOG2E
    if pattern.score is None:
        factor = scale * LOG2E
    else:
        s = pattern.score(s * scale, tile.t[:, None], pos[None, :], (tile.group.to(tl.int32) * G + tile.row)[:, None], extra, learned)
    return s, factor


@triton.jit
def visible_keys(tile, pos, extra, pattern, G: tl.constexpr):
    """Whether each row attends to each key, [BM, BN]."""
    shown = pattern.mask(tile.t[:, None], pos[None, :], (tile.group.to(tl.int32) * G + tile.row)[:, None], extra)
    if not pattern.causal:
        shown = shown & (pos < tile.keys)[None, :]
    return shown


@triton.jit
def counted_keys(tile, pos, extra, pattern, size, MASKED: tl.constexpr):
    """Which keys count for the gradients of keys, [BM, BN]: those that a live row attends to, which are all of them without MASKED. None if all
    count for all rows."""
    keep = None
    if MASKED and pattern.idle:
        hidden = Tile(tile.start, tile.length, tile.first, tile.group, tl.where(tile.live, tile.t, -1), tile.row, tile.live, tile.key0, tile.keys)
        keep = visible_keys(hidden, pos, extra, pattern, size.G)
    elif MASKED:
        keep = visible_keys(tile, pos, extra, pattern, size.G) & tile.live[:, None]
    elif size.BM % size.G != 0:                  # the last rows of every tile are idle
        keep = tl.broadcast_to(tile.live[:, None], (size.BM, size.BN))
    return keep


@triton.jit
def load_tile_slices(x, tile, n, size, RUNS: tl.constexpr):
    """load_tile of both slices of keys, [BN, DP] and [BN, DT]; the second is 0.0 where the first holds all columns."""
    return load_tile(x, tile, n, 0, size.D, size.DP, size, RUNS), load_tile(x, tile, n, size.DP, size.D - size.DP, size.DT, size, RUNS) if size.DT else 0.0


@triton.jit
def tile_positions(n, size, RUNS: tl.constexpr):
    """Positions [BN] of a tile of keys: n is the first, or with RUNS all of them."""
    if RUNS:
        pos = n
    else:
        pos = n + tl.arange(0, size.BN)
    return pos


@triton.jit
def any_visible(t0, n, length, keys, group, extra, pattern, size, WIDTH: tl.constexpr):
    """Whether any token of the tile of queries from t0 on attends to any of the WIDTH keys from n on."""
    head0 = group.to(tl.int32) * size.G
    return pattern.visible(t0, tl.minimum(t0 + size.BM // size.G, length) - 1, n, tl.minimum(n + WIDTH, keys) - 1, head0,
                           head0 + size.G - 1, extra)


@triton.jit
def visible_among(n, past, tile, extra, pattern, size, WIDTH: tl.constexpr):
    """The first of the positions n, n + WIDTH, ..., n + 31 * WIDTH below `past` at which WIDTH keys begin that the tile's queries attend to,
    or 2^30 if there is none."""
    starts = n + tl.arange(0, 32) * WIDTH
    shown = any_visible(tile.first, starts, tile.length, tile.keys, tile.group, extra, pattern, size, WIDTH)
    return tl.min(tl.where(shown & (starts < past), starts, 1 << 30), 0)


@triton.jit
def next_visible(n, past, tile, extra, pattern, size):
    """The first run of keys from n on that the tile's queries attend to; 2^30 if there is none before `past`."""
    WIDTH: tl.constexpr = size.RUN if size.RUN else size.BN
    found = visible_among(n, past, tile, extra, pattern, size, WIDTH)
    while (n + 32 * WIDTH < past) & (found == 1 << 30):
        n += 32 * WIDTH
        found = visible_among(n, past, tile, extra, pattern, size, WIDTH)
    return found


@triton.jit
def step_of(n, past, tile, extra, pattern, size):
    """What a masked step visits, given that the run from n on is visible: n, or with runs the positions [BN] of this run and of the visible
    runs that follow, 2^30 and above where there are none before `past`. Also the next run after them, as next_visible returns it."""
    if size.RUN:
        key = tl.arange(0, size.BN)
        step = n + key % size.RUN
        for i in range(1, size.BN // size.RUN):
            n = next_visible(n + size.RUN, past, tile, extra, pattern, size)
            step = tl.where(key // size.RUN == i, n + key % size.RUN, step)
        following = next_visible(n + size.RUN, past, tile, extra, pattern, size)
    else:
        step = n
        following = next_visible(n + size.BN, past, tile, extra, pattern, size)
    return step, following


@triton.jit
def load_tile(x, tile, n, SKIP: tl.constexpr, N: tl.constexpr, NP: tl.constexpr, size, RUNS: tl.constexpr):
    """load_keys of BN keys from position n on, or with RUNS of the keys at positions n [BN]."""
    if RUNS:
        row = tl.minimum(n, tile.keys - 1).to(tl.int64)
        rows = load_rows(x.ptr + tile.key0.to(tl.int64) * x.token + tile.group * x.head + SKIP, row * x.token, N, NP)
    else:
        rows = load_keys(x, tile.key0, tile.keys, n, tile.group, SKIP, N, NP, size.BN)
    return rows


@triton.jit
def visit_keys(step, inputs, state, tile, extra, pattern, size, SPLIT: tl.constexpr, IDLE: tl.constexpr = False):
    """`state` after step(inputs, state, tile, n, extra, pattern, size, MASKED) for every tile of keys n .. n+BN-1 that the tile's queries
    may attend to; with runs, n are the positions [BN] of a masked tile. With SPLIT, a separate loop without masks handles the keys that all
    queries attend to. If the pattern has `visible`, a masked loop skips the tiles that no query attends to. IDLE: rows that are not live
    need the mask."""
    BT: tl.constexpr = size.BM // size.G
    head0 = tile.group.to(tl.int32) * size.G
    lowest, full_first, full_past, past = pattern.keys(tile.first, tl.minimum(tile.first + BT, tile.length) - 1, tile.length, head0,
                                                       head0 + size.G - 1, extra)
    if pattern.visible is not None:              # next_visible needs bounds that are positions
        past = tl.minimum(past, tile.keys)
        lowest = tl.minimum(lowest, past)
    lowest = lowest // size.BN * size.BN
    if SPLIT and IDLE:
        full_past = tl.where(tile.first + BT <= tile.length, full_past, lowest)
    bounds = split_range(lowest, full_first, full_past, past, size.BN, SPLIT)
    for i in tl.static_range(0, 3 if SPLIT else 1):
        if i != 1 and pattern.visible is not None:
            n = next_visible(bounds[i], bounds[i + 1], tile, extra, pattern, size)
            while n < bounds[i + 1]:
                pos, n = step_of(n, bounds[i + 1], tile, extra, pattern, size)
                state = step(inputs, state, tile, pos, extra, pattern, size, True)
        else:
            for n in range(bounds[i], bounds[i + 1], size.BN):
                state = step(inputs, state, tile, n, extra, pattern, size, i != 1)
    return state


@triton.jit
def zero_slices(ROWS: tl.constexpr, size):
    """Sums of both slices, [ROWS, DP] and [ROWS, DT]; the second is 0.0 where the first holds all columns."""
    tail = tl.zeros((ROWS, size.DT), tl.float32) if size.DT else 0.0
    return tl.zeros((ROWS, size.DP), tl.float32), tail


@triton.jit
def no_keys(size):
    """acc, peak and total of softmax_step before the first key."""
    return tl.zeros((size.BM, size.EP), tl.float32), tl.full((size.BM,), float("-inf"), tl.float32), tl.zeros((size.BM,), tl.float32)


@triton.jit
def softmax_step(s, factor, v, peak, total, acc):
    """One step of the online softmax over scores s [BM, BN] and values v [BN, EP]. `factor` > 0 converts scores to base-2 exponents (for
    exp2).

    peak [BM] is the largest factor * s so far; total [BM] and acc [BM, EP] are the sums of p = exp2(factor * s - peak) and of
    p * v (FlashAttention 2, algorithm 1). The factor is part of the exponent's multiply-add, so the maximum is taken before it.
    """
    top = tl.maximum(peak, tl.max(s, 1) * factor)
    base = tl.where(top == float("-inf"), 0.0, top)
    p = tl.exp2(s * factor - base[:, None])
    shrink = tl.exp2(peak - base)
    return top, total * shrink + tl.sum(p, 1), tl.dot(p.to(v.dtype), v, acc * shrink[:, None])


@triton.jit
def finish(peak, total, acc, weight):
    """(o [BM, EP], lse [BM]) from the state of softmax_step; weight is total plus what a sink adds. lse is a natural logarithm. A row
    without keys has o = 0 and lse = -inf."""
    empty = total == 0.0
    lse = tl.where(empty, float("-inf"), (peak + tl.log2(tl.where(empty, 1.0, total))) * LN2)
    return acc / tl.where(empty, 1.0, weight)[:, None], lse


@triton.jit
def dot_slices(q, q2, k, k2, DT: tl.constexpr):
    """q k^T from the two slices of both; the second is not read where DT is 0."""
    s = tl.dot(q, tl.trans(k))
    if DT:
        s = tl.dot(q2, tl.trans(k2), s)
    return s


@triton.jit
def token_rows(start, length, t, group, G: tl.constexpr, GP: tl.constexpr):
    """The GP rows of one token: its G heads; rows from G on repeat the last head and are not live."""
    head = tl.arange(0, GP)
    return Tile(start, length, t, group, tl.broadcast_to(t, (GP,)), tl.minimum(head, G - 1), head < G, start, length)
