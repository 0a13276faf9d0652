# kernels/nsa/select_packed_fwd.py - attention over selected blocks, forward, from keys and values packed by blocks.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""A block of keys is read by every token that selects it. Packed once, it is one piece of memory in the order in which a dot of few rows
reads it. pack_keys: k [T, H, D], v [T, H, E]; KP [H, tiles, DP + DT, LP] gets the keys of each block as columns, VP [H, tiles, LP, EP] the
values row by row, where tiles are those of LSEL tokens and LP >= LSEL; what is not there is zero. select_packed_fwd: the formula of
select_fwd, IDX [H, T, NSEL], other shapes as in kernels/attention/core.py."""
import triton
import triton.language as tl
from kernels.attention.configs import TOKEN_CONFIGS
from kernels.attention.core import LOG2E, Rows, Sizes, load_query_slices, no_keys, softmax_step, token_rows
from kernels.attention.forward import store_output
from kernels.tiles import find_tile, load_rows, pick_block


@triton.jit
def picked_keys(row, r, t, LSEL: tl.constexpr, NSEL: tl.constexpr, HIDDEN: tl.constexpr):
    """The block that entry r of a token at `row` names, and how many of its keys the token sees: none where the entry does not count."""
    block = pick_block(row, r, t // LSEL, NSEL)
    first = tl.maximum(block, 0)
    return first, tl.minimum((block + 1) * LSEL, (t - HIDDEN if HIDDEN else t) + 1) - first * LSEL


@triton.jit
def load_part(block, n, skip, STRIDE: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """[ROWS, COLUMNS] of a packed block with rows of STRIDE elements, from row `skip` and column n on."""
    return tl.load(block + skip * STRIDE + n + tl.arange(0, ROWS)[:, None] * STRIDE + tl.arange(0, COLUMNS)[None, :])


@triton.jit
def packed_products(q1, q2, block, n, LP: tl.constexpr, STEP: tl.constexpr, size):
    """Products of the queries and the keys n .. n+STEP-1 of a block of columns, [GP, STEP]."""
    s = tl.dot(q1, load_part(block, n, 0, LP, size.DP, STEP))
    if size.DT:
        s = tl.dot(q2, load_part(block, n, size.DP, LP, size.DT, STEP), s)
    return s


@triton.jit
def store_columns(to, x, here, rows, LP: tl.constexpr, N: tl.constexpr):
    """Stores rows x [STEP, N] as columns `rows` of a block, zero where `here` is not set."""
    tl.store(to + tl.arange(0, N)[:, None] * LP + rows[None, :], tl.trans(tl.where(here[:, None], x, 0.0)))


# tessera: types("k v: Rows(*TYPE:16, i32:16, i32:16)", "KP VP: *TYPE:16", "CU: *i32:16", "nseq tiles: i32")
# tessera: instance pack_keys_quick_f32(TYPE="fp32", LSEL=32, LP=32, D=32, DP=32, DT=0, E=32, EP=32, BK=32)
# tessera: instance pack_keys_d64_f32(TYPE="fp32", LSEL=64, LP=64, D=64, DP=64, DT=0, E=64, EP=64, BK=32)
# tessera: instance pack_keys_paper_bf16(TYPE="bf16", LSEL=64, LP=64, D=192, DP=128, DT=64, E=128, EP=128, BK=32)
# tessera: grid(T // LSEL + B, H)
# tessera: cpu(BK=32)
# tessera: space(BK=[8, 16, 32, 64], where=BK <= LP)
@triton.autotune(configs=[triton.Config({"BK": 32}, num_warps=4)], key=["D", "E"])
@triton.jit(do_not_specialize=["nseq", "tiles"])
def pack_keys(k: Rows, v: Rows, KP, VP, CU, nseq, tiles, LSEL: tl.constexpr, LP: tl.constexpr, D: tl.constexpr, DP: tl.constexpr,
              DT: tl.constexpr, E: tl.constexpr, EP: tl.constexpr, BK: tl.constexpr):
    """Packs one block of one KV head."""
    tile = tl.program_id(0)
    _, start, length, n0 = find_tile(CU, nseq, tile, LSEL)
    group = tl.program_id(1).to(tl.int64)
    if n0 >= length:
        return
    STEP: tl.constexpr = BK if BK < LP else LP
    packed = group * tiles + tile
    key0 = (start + n0).to(tl.int64)
    keys = k.ptr + key0 * k.token + group * k.head
    values = v.ptr + key0 * v.token + group * v.head
    to = KP + packed * ((DP + DT) * LP)
    cols = tl.arange(0, EP)
    for n in range(0, LP, STEP):
        rows = n + tl.arange(0, STEP)
        here = rows < tl.minimum(length - n0, LSEL)
        key = tl.where(here, rows, 0)
        store_columns(to, load_rows(keys, key * k.token, D, DP), here, rows, LP, DP)
        if DT:
            store_columns(to + DP * LP, load_rows(keys + DP, key * k.token, D - DP, DT), here, rows, LP, DT)
        v1 = load_rows(values, key * v.token, E, EP)
        tl.store(VP + packed * (LP * EP) + rows[:, None] * EP + cols[None, :], tl.where(here[:, None], v1, 0.0))


# tessera: types("q o: Rows(*TYPE:16, i32:16, i32:16)", "lse: Rows(*fp32:16, i32, 1)", "KP VP: *TYPE:16", "IDX CU: *i32:16", "scale: fp32", "T nseq tiles: i32")
# tessera: instance select_packed_fwd_quick_f32(TYPE="fp32", G=3, GP=4, LSEL=32, LP=32, NSEL=6, D=32, DP=32, DT=0, E=32, EP=32, BN=32)
# tessera: instance select_packed_fwd_d64_f32(TYPE="fp32", G=4, GP=4, LSEL=64, LP=64, NSEL=16, D=64, DP=64, DT=0, E=64, EP=64, BN=64)
# tessera: instance select_packed_fwd_paper_bf16(TYPE="bf16", lse="Rows(*fp32:16, i32:16, 1)", G=16, GP=16, LSEL=64, LP=64, NSEL=16, D=192, DP=128, DT=64, E=128, EP=128, BN=64)
# tessera: cpu(BN=64)
# tessera: cpu(BN=32)
# tessera: space(BN=[16, 32, 64], where=BN <= LP)
# tessera: grid(T + B, H)
# tessera: swap_ab
@triton.autotune(configs=TOKEN_CONFIGS, key=["G", "D", "E"])
@triton.jit(do_not_specialize=["T", "nseq", "tiles"])
def select_packed_fwd(q: Rows, KP, VP, IDX, o: Rows, lse: Rows, CU, scale, T, nseq, tiles, G: tl.constexpr, GP: tl.constexpr,
                      LSEL: tl.constexpr, LP: tl.constexpr, NSEL: tl.constexpr, D: tl.constexpr, DP: tl.constexpr, DT: tl.constexpr,
                      E: tl.constexpr, EP: tl.constexpr, BN: tl.constexpr, SHARE: tl.constexpr = 1, HIDDEN: tl.constexpr = 0):
    """Computes o and lse of one token, all heads of one list; tiles = T // LSEL + nseq. SHARE lists read the blocks of one KV head; the
    last HIDDEN keys up to the query do not count. The CPU's default."""
    sequence, start, length, t = find_tile(CU, nseq, tl.program_id(0), 1)
    group = tl.program_id(1).to(tl.int64)
    if t >= length:
        return
    tile = token_rows(start, length, t, group, G, GP)
    row = IDX + (group * T + start + t) * NSEL
    q1, q2 = load_query_slices(q, tile, Sizes(G, D, DP, DT, E, EP, GP, BN))
    acc, peak, total = no_keys(Sizes(G, D, DP, DT, E, EP, GP, BN))
    STEP: tl.constexpr = BN if BN < LP else LP   # a step stays inside of its block
    first = (group // SHARE if SHARE > 1 else group) * tiles + start // LSEL + sequence      # the first block of the sequence
    for r in range(0, NSEL):
        block, bound = picked_keys(row, r, t, LSEL, NSEL, HIDDEN)
        for n in range(0, bound, STEP):
            s = packed_products(q1, q2, KP + (first + block) * ((DP + DT) * LP), n, LP, STEP, Sizes(G, D, DP, DT, E, EP, GP, BN))
            s = tl.where((n + tl.arange(0, STEP) < bound)[None, :], s, float("-inf"))
            v = load_part(VP + (first + block) * (LP * EP), 0, n, EP, STEP, EP)
            peak, total, acc = softmax_step(s, scale * LOG2E, v, peak, total, acc)
    store_output(o, lse, peak, total, acc, total, tile, Sizes(G, D, DP, DT, E, EP, GP, BN))
