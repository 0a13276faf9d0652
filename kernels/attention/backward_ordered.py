# kernels/attention/backward_ordered.py - attention, backward in one pass by tiles of keys: all gradients by one kernel of a GPU.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""dq, dk and dv of backward_q.py and backward_kv.py, which compute every score twice: seven products of matrices, here five.

A program has a tile of keys. dk and dv are sums in registers. dq is added up in fp32 memory, which several programs share: the additions to a
tile of queries are in ascending order of keys, so that every run gives the same bits. A counter for each tile of queries holds the end of the
keys that have been added, and a program waits for the keys before its own. Programs take their numbers from a counter in the order in which
they start. They wait for lower numbers only, which have started, so that no two wait for each other."""
from typing import NamedTuple

import triton
import triton.language as tl
from kernels.attention.backward_kv import key_columns, no_queries, store_gradients
from kernels.attention.backward_q import probabilities
from kernels.attention.core import LOG2E, counted_keys, load_keys, load_queries, load_row_values, query_tile, row_pointer, split_range
from kernels.tiles import find_tile


class Turns(NamedTuple):
    """The counters of a launch. All are 0 before it and after it."""
    ticket: tl.tensor   # one number: the programs that have started
    added: tl.tensor    # [H, tiles]: for each tile of queries, the end of the keys that have been added to dq
    tiles: tl.tensor    # tiles of queries of each key/value head; those of sequence b begin at CU[b] // BT + b


class Keys(NamedTuple):
    """What a program has of its tile of keys."""
    n: tl.tensor        # position of the first
    start: tl.tensor    # the sequence's first key in the packed tensors
    count: tl.tensor    # keys of the sequence
    rows: tl.tensor     # the keys, [BN, DP]


@triton.jit
def take_ticket(turns):
    """The number of this program in the order in which programs start. The last one sets the counter to 0 again."""
    ticket = tl.atomic_add(turns.ticket, 1, sem="relaxed")
    if ticket == tl.num_programs(0) * tl.num_programs(1) - 1:
        tl.atomic_xchg(turns.ticket, 0, sem="relaxed")
    return ticket


@triton.jit
def wait_until(counter, least):
    """Waits until the counter is `least` or more. Then this program sees what others stored before they set the counter."""
    while tl.atomic_add(counter, 0, sem="acquire") < least:
        pass


@triton.jit
def add_in_turn(dq, counter, product, before, end, tile, size, ADD: tl.constexpr):
    """Adds ds k, [BM, DP], to the tile's rows of dq, fp32. product is (ds, k, n). `before` is the end of the keys that have to be added first,
    0 if there are none. The counter becomes the end of the keys n .. n+BN-1, or 0 where no keys of the tile, which end at `end`, follow. ADD: dq
    contains a sum before the launch; otherwise the first keys store theirs."""
    ds, k, n = product
    base, offs = row_pointer(dq, tile, size.G)
    cols = tl.arange(0, size.DP)
    place = base + offs[:, None] + cols[None, :]
    keep = tile.live[:, None] & (cols[None, :] < size.D)
    if before > 0:
        wait_until(counter, before)
        value = tl.load(place, mask=keep, other=0.0)
    elif ADD:
        value = tl.load(place, mask=keep, other=0.0)
    else:
        value = tl.zeros((size.BM, size.DP), tl.float32)
    tl.store(place, tl.dot(ds, k, value), mask=keep)
    tl.debug_barrier()                           # under Triton: all threads have stored before one sets the counter
    tl.atomic_xchg(counter, tl.where(n + size.BN < end, n + size.BN, 0), sem="release")


@triton.jit
def ordered_step(inputs, lse, delta, state, keys, tile, before, end, counter, extra, pattern, size, MASKED: tl.constexpr, ADD: tl.constexpr):
    """Adds what a tile of queries contributes to `state`, which is that of query_step in backward_kv.py, and to dq. inputs are q, do,
    dq, the key_columns and scale; before, end and counter are as in add_in_turn."""
    q, do, dq, columns, scale = inputs
    kt, _, vt = columns
    dk, tail, dv = state
    pos = keys.n + tl.arange(0, size.BN)
    q1 = load_queries(q, tile, size.G, 0, size.D, size.DP)
    do1 = load_queries(do, tile, size.G, 0, size.E, size.EP)
    total = load_row_values(lse, tile, size.G) * LOG2E
    change = load_row_values(delta, tile, size.G)
    s = tl.dot(q1, kt)
    keep = counted_keys(tile, pos, extra, pattern, size, MASKED)
    p = probabilities(s, tile, pos, scale, 0.0, total, keep, extra, pattern, size.G)
    dv = tl.dot(tl.trans(p.to(do1.dtype)), do1, dv)
    ds = (p * (tl.dot(do1, vt) - change[:, None])).to(q1.dtype)
    dk = tl.dot(tl.trans(ds), q1, dk)
    add_in_turn(dq, counter, (ds, keys.rows, keys.n), before, end, tile, size, ADD)
    return dk, tail, dv


@triton.jit
def load_key_tile(k, start, count, n, group, size):
    """The Keys of positions n .. n+BN-1."""
    return Keys(n, start, count, load_keys(k, start, count, n, group, 0, size.D, size.DP, size.BN))


@triton.jit
def visit_queries(inputs, lse, delta, turns, keys, start, length, sequence, group, first, past, extra, pattern, size, ADD: tl.constexpr):
    """The state of ordered_step after the queries of first .. past-1 that attend to the keys. `first` is a multiple of BT, the tokens of a
    tile. All key tiles have the same tiles of queries."""
    BT: tl.constexpr = size.BM // size.G
    n = keys.n
    lowest, full_first, full_past, end = pattern.queries(n, tl.minimum(n + size.BN, keys.count) - 1, length, 0, 0, extra)
    _, _, _, end_before = pattern.queries(n - size.BN, n - 1, length, 0, 0, extra)
    # A tile at the end of the keys repeats the last one: its queries need the mask.
    full_past = tl.where(n + size.BN <= keys.count, tl.minimum(full_past, past), 0)
    bounds = split_range(tl.maximum(lowest // BT * BT, first), full_first, full_past, tl.minimum(end, past), BT, 1)
    counters = turns.added + group * turns.tiles + start // BT + sequence
    state = no_queries(size)
    for i in tl.static_range(0, 3):
        for t0 in range(bounds[i], bounds[i + 1], BT):
            tile = query_tile(start, length, t0, group, keys.start, keys.count, size.G, size.BM, True)
            before = tl.where(t0 < end_before, n, 0)     # 0 for the first keys: n is 0
            _, _, _, last = pattern.keys(t0, tl.minimum(t0 + BT, length) - 1, length, 0, 0, extra)
            state = ordered_step(inputs, lse, delta, state, keys, tile, before, last, counters + t0 // BT, extra, pattern, size, i != 1, ADD)
    return state


@triton.jit
def backward_ordered(q, k, v, do, lse, delta, dq, dk, dv, CU, turns, scale, nseq, pattern, size, ADD: tl.constexpr):
    """dk and dv of one tile of keys, and what it adds to dq / scale, fp32 [T, H*G, D]; ADD as in add_in_turn. The pattern has no `load` and no
    learned numbers."""
    ticket = take_ticket(turns)
    sequence, start, length, n = find_tile(CU, nseq, ticket // tl.num_programs(0), size.BN)     # early keys, which most tokens see, first
    group = (ticket % tl.num_programs(0)).to(tl.int64)
    if n >= length:
        return
    keys = load_key_tile(k, start, length, n, group, size)
    columns = key_columns(k, v, start, length, n, group, size)
    sums = visit_queries((q, do, dq, columns, scale), lse, delta, turns, keys, start, length, sequence, group, 0, length, pattern.inputs, pattern,
                         size, ADD)
    store_gradients(dk, dv, start + n, group, sums, scale, n + tl.arange(0, size.BN) < length, 0, size)
