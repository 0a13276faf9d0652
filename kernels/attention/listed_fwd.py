# kernels/attention/listed_fwd.py - attention over selected blocks with the rule and the score of a pattern, forward.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""The functions in this file attend to the blocks that each query selected (NSA, equation 12). forward_lists visits, for a tile of BM // G
tokens, every block that any of them selected. select_lists.py writes these blocks to LISTS [lists, tiles, BT * NSEL] and their number to
COUNTS [lists, tiles]. For each block and row, `newest` is the last key that the row attends to, or -1 if its token did not select the
block. For example, LSEL is 2, and the tokens at positions 6 and 7 selected the blocks 3, 1 and 3, 0:

    block visited              0     1     3
    newest of position 6      -1     6     6
    newest of position 7       7    -1     7

The functions of a Pattern (core.py) get `extra` = (newest, bound, pattern.inputs). The pattern's mask must include listed_mask, which reads
newest and bound: a row attends to keys up to `newest` and before `bound`."""
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
    """Computes o and lse of one tile: BM // G tokens with the G heads of one list. Loads each block that any token of the tile selected once.
    SHARE consecutive lists read one KV head. The query at position t attends to keys up to t - HIDDEN. learned [T, H*G] holds the numbers
    that the pattern's score reads, or is None. Grid: (tiles of tokens, lists)."""
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
    # If BN divides LSEL, a tile of keys does not extend past its block, so it needs no bound.
    for i in range(0, tl.load(COUNTS + entry) * STEPS):
        block, newest = list_entry(tl.load(LISTS + entry * (BT * NSEL) + i // STEPS), tile, HIDDEN)
        state = key_step((q1, q2, keys_of_list(k, group, SHARE), keys_of_list(v, group, SHARE), scale, value), state, tile,
                         block * LSEL + i % STEPS * size.BN, (newest, (block + 1) * LSEL if LSEL % size.BN else None, pattern.inputs),
                         pattern, size, True)
    acc, peak, total = state
    store_output(o, lse, peak, total, acc, total, tile, size)


@triton.jit
def add_masses(mass, q1, q2, keys, tile, first, newest, scale, learned, total, pattern, size):
    """Returns mass [BM] plus, for each live row, the sum of exp(score - lse) over its visible keys in first .. newest. total [BM] is
    lse * log2(e)."""
    for n in range(first, newest + 1, size.BN):
        pos = n + tl.arange(0, size.BN)
        k1, k2 = load_key_slices(keys, tile.key0, tile.keys, n, tile.group, size)
        keep = visible_keys(tile, pos, (newest, None, pattern.inputs), pattern, size.G) & tile.live[:, None]
        p = probabilities(dot_slices(q1, q2, k1, k2, size.DT), tile, pos, scale, learned, total, keep, (newest, None, pattern.inputs), pattern, size.G)
        mass += tl.sum(p, 1)
    return mass


@triton.jit
def masses_of_lists(q, k, lse, IDX, MASS, learned, CU, scale, T, nseq, pattern, size, LSEL: tl.constexpr, NSEL: tl.constexpr, SHARE: tl.constexpr):
    """Writes MASS [H, T, NSEL] for one token and one list. MASS is the sum of exp(score - lse) over the visible keys of the block in IDX, of the
    same shape, and over the heads of the list. It is 0 for a negative number and for a block after the token. A tile has BM rows, of which
    the first G are the heads of the list. Grid: (T + B, lists)."""
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
