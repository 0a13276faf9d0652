# kernels/attention/listed_bwd.py - attention over selected blocks with the rule and the score of a pattern, backward.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""The gradients of listed_fwd.py (FlashAttention 2, algorithm 2), for the functions of a Pattern, whose argument `extra` and HIDDEN are those of
that file. lse and delta are those of the complete softmax, with its sink. LISTS and COUNTS as in select_lists.py, PTR and INV as in
inverse_index.py, PART as in bwd_sum.py."""
import triton
import triton.language as tl
from kernels.attention.backward_kv import key_columns, no_queries, query_step, store_gradients
from kernels.attention.backward_q import key_step, load_query_rows, no_sums, store_dq, store_learned
from kernels.attention.core import Rows, Tile, query_tile
from kernels.nsa.select_lists import keys_of_list, list_entry
from kernels.tiles import find_tile


@triton.jit
def backward_q_lists(q, k, v, LISTS, COUNTS, do, lse, delta, dq, sink, learned, dlearned, CU, nseq, scale, pattern, size, LSEL: tl.constexpr,
                     NSEL: tl.constexpr, SHARE: tl.constexpr, ACCUMULATE: tl.constexpr, HIDDEN: tl.constexpr = 0):
    """dq of one tile of (token, head) rows; visits the keys that the forward pass visits. dlearned [T, H*G] receives the gradients of
    learned, which need the sink [T, H*G] where there is one."""
    STEPS: tl.constexpr = (LSEL + size.BN - 1) // size.BN
    BT: tl.constexpr = size.BM // size.G
    tl.static_assert(BT > 0, "BM must hold all heads of a token")
    tl.static_assert(BT <= 32, "a token has a bit in a word of 32: BM must be smaller")
    number = tl.num_programs(0) - 1 - tl.program_id(0)      # late tokens, which see most keys, first
    _, start, length, first = find_tile(CU, nseq, number, BT)
    group = tl.program_id(1).to(tl.int64)
    if first >= length:
        return
    tile = query_tile(start, length, first, group, start, length, size.G, size.BM, True)
    rows = load_query_rows(q, do, lse, delta, sink, learned, tile, size, True)
    state = no_sums(size)
    entry = group * tl.num_programs(0) + number
    entries = LISTS + entry * (BT * NSEL)
    steps = tl.load(COUNTS + entry) * STEPS
    pair = tl.load(entries, mask=steps > 0, other=0)
    for i in range(0, steps):
        ahead = tl.load(entries + (i + 1) // STEPS, mask=i + 1 < steps, other=0)
        block, newest = list_entry(pair, tile, HIDDEN)
        state = key_step((rows, keys_of_list(k, group, SHARE), keys_of_list(v, group, SHARE), scale), state, tile,
                         block * LSEL + i % STEPS * size.BN, (newest, (block + 1) * LSEL if LSEL % size.BN else None, pattern.inputs),
                         pattern, size, True)
        pair = ahead
    value, tail, sums = state
    store_dq(dq, value * scale, tail * scale, tile, size, ACCUMULATE)
    store_learned(None, dlearned, sums, rows, tile, size)


@triton.jit
def backward_kv_lists(q, k, v, do, lse, delta, PTR, INV, PART, dk, dv, learned, CU, T, nseq, nblk, scale, pattern, size, LSEL: tl.constexpr,
                      NSEL: tl.constexpr, CHUNK: tl.constexpr, SHARE: tl.constexpr, HIDDEN: tl.constexpr = 0, SUB: tl.constexpr = 0):
    """Up to CHUNK tokens of a block's inverse list: dk and dv of up to BN of its keys; rows are (token, head of the group).

    Chunks are numbered as find_tile numbers the tiles of sequences, by PTR: the lists are the sequences. A list of one chunk writes
    dk and dv, also an empty one; the chunks of a longer one write sums for select_bwd_sum, in fp32 and not yet scaled. With SHARE > 1 a
    KV head has as many sets of lists, and so of gradients, for the caller to add up. SUB > 0: blocks are super-blocks of blocks of SUB
    tokens, INV is int64 as inverse_fill_bits writes it, and `extra` is that of picked_mask.
    """
    BT: tl.constexpr = size.BM // size.G
    STEPS: tl.constexpr = (LSEL + size.BN - 1) // size.BN
    tl.static_assert(BT > 0, "BM must hold all heads of a token")
    group = tl.program_id(0).to(tl.int64)
    chunk = tl.program_id(1) // STEPS                       # of all lists
    block, entry0, listed, r0 = find_tile(PTR + group * (nblk + 1), nblk, chunk, CHUNK)
    _, start, length, first = find_tile(CU, nseq, block, LSEL)
    n = first + tl.program_id(1) % STEPS * size.BN
    if (n >= length) | ((r0 > 0) & (r0 >= listed)):         # an empty list has a chunk, which writes zeros
        return
    bound = tl.minimum(first + LSEL, length)
    head = group // SHARE if SHARE > 1 else group
    columns = key_columns(k, v, start, length, n, head, size)
    entries = tl.minimum(listed - r0, CHUNK)
    tokens = INV + group * T * NSEL + entry0 + r0
    rows = tl.arange(0, size.BM)
    state = no_queries(size)
    for r in range(0, entries, BT):
        t = tl.load(tokens + tl.minimum(r + rows // size.G, entries - 1))
        bits = (t >> 32).to(tl.int32)[:, None] if SUB else None
        t = (t & 0x7fffffff).to(tl.int32) if SUB else t
        live = rows // size.G < tl.minimum(BT, entries - r)
        newest = tl.where(live, tl.minimum(t - HIDDEN if HIDDEN else t, bound - 1), -1)[:, None]    # idle rows see nothing
        tile = Tile(start, length, 0, group, t.to(tl.int64), rows % size.G, live, start, length)    # listed tokens may lie far apart
        state = query_step((q, do, lse, delta, None, learned, columns, scale), state, tile, n,
                           (newest, first, bits, SUB) if SUB else (newest, None, pattern.inputs), pattern, size, True)
    shown = n + tl.arange(0, size.BN) < bound
    if listed > CHUNK:
        first_row = (group * (tl.num_programs(1) // STEPS) + chunk) * LSEL + (n - first)
        parts = Rows(PART, size.D + size.E, 0)
        store_gradients(parts, parts, first_row, group, state, 1.0, shown, size.D, size)
    else:
        store_gradients(dk, dv, start + n, group, state, scale, shown, 0, size)
