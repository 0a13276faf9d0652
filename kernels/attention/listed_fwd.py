# kernels/attention/listed_fwd.py - attention over selected blocks with the rule and the score of a pattern, forward.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Passes over the blocks that queries selected (NSA, equation 12), for the functions of a Pattern (kernels/attention/core.py). Their argument
`extra` is (newest, bound, inputs): the first two are those of listed_mask, which the mask contains, and inputs are those of the pattern. LISTS
and COUNTS as in select_lists.py. A query does not attend to the last HIDDEN keys up to its own position."""
import triton
import triton.language as tl
from kernels.attention.backward_q import probabilities
from kernels.attention.core import (LOG2E, dot_slices, load_key_slices, load_query_slices, load_row_values, no_keys, query_tile, token_rows,
                                    visible_keys)
from kernels.attention.forward import key_step, store_output
from kernels.nsa.select_lists import keys_of_list, list_entry
from kernels.tiles import find_tile


@triton.jit
def forward_lists(q, k, v, LISTS, COUNTS, o, lse, learned, CU, nseq, scale, pattern, size, LSEL: tl.constexpr, NSEL: tl.constexpr,
                  SHARE: tl.constexpr, HIDDEN: tl.constexpr = 0):
    """o and lse of one tile of (token, head) rows of one list; each block is loaded once for all rows. SHARE lists read the keys of one KV
    head. learned [T, H*G] holds the numbers that the pattern's score reads, or is None."""
    STEPS: tl.constexpr = (LSEL + size.BN - 1) // size.BN   # of a block
    BT: tl.constexpr = size.BM // size.G                    # whole tokens; the last BM % G rows of a tile are idle
    tl.static_assert(BT > 0, "BM must hold all heads of a token")
    tl.static_assert(BT <= 32, "a token has a bit in a word of 32: BM must be smaller")
    number = tl.num_programs(0) - 1 - tl.program_id(0)      # late tokens, which see most keys, first
    _, start, length, first = find_tile(CU, nseq, number, BT)
    group = tl.program_id(1).to(tl.int64)
    if first >= length:
        return
    tile = query_tile(start, length, first, group, start, length, size.G, size.BM)
    q1, q2 = load_query_slices(q, tile, size)
    value = load_row_values(learned, tile, size.G)[:, None] if learned is not None else 0.0
    state = no_keys(size)
    entry = group * tl.num_programs(0) + number
    for i in range(0, tl.load(COUNTS + entry) * STEPS):
        block, newest = list_entry(tl.load(LISTS + entry * (BT * NSEL) + i // STEPS), tile, HIDDEN)
        state = key_step((q1, q2, keys_of_list(k, group, SHARE), keys_of_list(v, group, SHARE), scale, value), state, tile,
                         block * LSEL + i % STEPS * size.BN, (newest, (block + 1) * LSEL if LSEL % size.BN else None, pattern.inputs),
                         pattern, size, True)
    acc, peak, total = state
    store_output(o, lse, peak, total, acc, total, tile, size)


@triton.jit
def add_masses(mass, q1, q2, keys, tile, first, newest, scale, learned, total, pattern, size):
    """mass [BM] plus the sums of exp(score - lse) over the keys first .. newest that each live row attends to; total [BM] is lse in units of
    log 2."""
    for n in range(first, newest + 1, size.BN):
        pos = n + tl.arange(0, size.BN)
        k1, k2 = load_key_slices(keys, tile.key0, tile.keys, n, tile.group, size)
        keep = visible_keys(tile, pos, (newest, None, pattern.inputs), pattern, size.G) & tile.live[:, None]
        p = probabilities(dot_slices(q1, q2, k1, k2, size.DT), tile, pos, scale, learned, total, keep, (newest, None, pattern.inputs), pattern, size.G)
        mass += tl.sum(p, 1)
    return mass


@triton.jit
def masses_of_lists(q, k, lse, IDX, MASS, learned, CU, scale, T, nseq, pattern, size, LSEL: tl.constexpr, NSEL: tl.constexpr, SHARE: tl.constexpr):
    """One token of one list of IDX [H, T, NSEL]: MASS, of the same shape, gets for each block the sum of exp(score - lse) over its visible keys
    and the heads of the list, and 0 for a number that does not name a block up to the token's. A tile has BM rows, the heads of the list."""
    _, start, length, t = find_tile(CU, nseq, tl.program_id(0), 1)
    if t >= length:
        return
    group = tl.program_id(1).to(tl.int64)
    tile = token_rows(start, length, t, group, size.G, size.BM)
    q1, q2 = load_query_slices(q, tile, size)
    value = load_row_values(learned, tile, size.G)[:, None] if learned is not None else None
    total = load_row_values(lse, tile, size.G) * LOG2E
    keys = keys_of_list(k, group, SHARE)
    row = (group * T + start + t) * NSEL
    for r in range(0, NSEL):
        block = tl.load(IDX + row + r)
        block = tl.where((block >= 0) & (block <= t // LSEL), block, -1)
        newest = tl.minimum(block * LSEL + LSEL - 1, t)     # -1: an empty range of keys
        mass = add_masses(tl.zeros((size.BM,), tl.float32), q1, q2, keys, tile, tl.maximum(block, 0) * LSEL, newest, scale, value, total, pattern, size)
        tl.store(MASS + row + r, tl.sum(mass, 0))
