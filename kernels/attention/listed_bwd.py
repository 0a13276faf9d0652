# kernels/attention/listed_bwd.py - attention over selected blocks with the rule and the score of a pattern, backward.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""The gradients of listed_fwd.py (FlashAttention 2, algorithm 2), for the functions of a Pattern, whose argument `extra` and HIDDEN are those of
that file. lse and delta are those of the complete softmax, with its sink. LISTS and COUNTS as in select_lists.py, PTR and INV as in
inverse_index.py, PART as in bwd_sum.py."""
import triton
import triton.language as tl
from kernels.attention.backward_kv import query_step, store_key_rows
from kernels.attention.backward_q import LearnedSums, key_step, store_dq, store_learned
from kernels.attention.core import LOG2E, Rows, Tile, load_keys, load_queries, load_row_values, query_tile, zero_slices
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
    q1 = load_queries(q, tile, size.G, 0, size.D, size.DP)
    q2 = load_queries(q, tile, size.G, size.DP, size.D - size.DP, size.DT) if size.DT else None
    do1 = load_queries(do, tile, size.G, 0, size.E, size.EP)
    value = load_row_values(learned, tile, size.G)[:, None] if learned is not None else None
    total = load_row_values(lse, tile, size.G) * LOG2E
    change = load_row_values(delta, tile, size.G)
    share = 0.0                                             # of the sink in the denominator
    if sink is not None:
        share = tl.where(tl.abs(total) == float("inf"), 0.0, tl.exp2(load_row_values(sink, tile, size.G) * LOG2E - total))
    sum1, sum2 = zero_slices(size.BM, size)
    sums = LearnedSums(tl.zeros((size.BM,), tl.float32), tl.zeros((size.BM,), tl.float32), tl.zeros((size.BM,), tl.float32))
    entry = group * tl.num_programs(0) + number
    entries = LISTS + entry * (BT * NSEL)
    steps = tl.load(COUNTS + entry) * STEPS
    pair = tl.load(entries, mask=steps > 0, other=0)
    for i in range(0, steps):
        ahead = tl.load(entries + (i + 1) // STEPS, mask=i + 1 < steps, other=0)
        block, newest = list_entry(pair, tile, HIDDEN)
        sum1, sum2, sums = key_step(q1, q2, do1, keys_of_list(k, group, SHARE), keys_of_list(v, group, SHARE), tile,
                                    block * LSEL + i % STEPS * size.BN, scale, value, total, change, sum1, sum2, sums,
                                    (newest, (block + 1) * LSEL if LSEL % size.BN else None, pattern.inputs), pattern, size, True)
        pair = ahead
    store_dq(dq, sum1 * scale, sum2 * scale, tile, size, ACCUMULATE)
    store_learned(None, dlearned, sums, share, change, tile, size)


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
    kt = tl.trans(load_keys(k, start, length, n, head, 0, size.D, size.DP, size.BN))
    kt2 = tl.trans(load_keys(k, start, length, n, head, size.DP, size.D - size.DP, size.DT, size.BN)) if size.DT else None
    vt = tl.trans(load_keys(v, start, length, n, head, 0, size.E, size.EP, size.BN))
    entries = tl.minimum(listed - r0, CHUNK)
    tokens = INV + group * T * NSEL + entry0 + r0
    rows = tl.arange(0, size.BM)
    sum1, sum2 = zero_slices(size.BN, size)
    sumv = tl.zeros((size.BN, size.EP), tl.float32)
    for r in range(0, entries, BT):
        t = tl.load(tokens + tl.minimum(r + rows // size.G, entries - 1))
        bits = (t >> 32).to(tl.int32)[:, None] if SUB else None
        t = (t & 0x7fffffff).to(tl.int32) if SUB else t
        live = rows // size.G < tl.minimum(BT, entries - r)
        newest = tl.where(live, tl.minimum(t - HIDDEN if HIDDEN else t, bound - 1), -1)[:, None]    # idle rows see nothing
        tile = Tile(start, length, 0, group, t.to(tl.int64), rows % size.G, live, start, length)    # listed tokens may lie far apart
        sum1, sum2, sumv = query_step(q, do, lse, delta, None, learned, kt, kt2, vt, tile, n, scale, sum1, sum2, sumv,
                                      (newest, first, bits, SUB) if SUB else (newest, None, pattern.inputs), pattern, size, True)
    shown = n + tl.arange(0, size.BN) < bound
    if listed > CHUNK:
        first_row = (group * (tl.num_programs(1) // STEPS) + chunk) * LSEL + (n - first)
        parts = Rows(PART, size.D + size.E, 0)
        store_key_rows(parts, first_row, group, sum1, sum2, shown, 0, size.D, size.DP, size.DT)
        store_key_rows(parts, first_row, group, sumv, None, shown, size.D, size.E, size.EP, 0)
    else:
        store_key_rows(dk, start + n, group, sum1 * scale, sum2 * scale, shown, 0, size.D, size.DP, size.DT)
        store_key_rows(dv, start + n, group, sumv, None, shown, 0, size.E, size.EP, 0)
