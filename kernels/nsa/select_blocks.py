# kernels/nsa/select_blocks.py - attention over selected blocks, forward and dq, one block after another for many tokens.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""A program owns SPAN tokens of one list and visits every block with the program's tokens that selected it, from the inverse index
(inverse_index.py). Products then have many rows even where a list serves one query head. Between two blocks a row's sums are in memory:
each row belongs to one program, and blocks come in ascending order, so the same inputs give the same bits. SUB > 0: blocks are super-blocks
of blocks of SUB tokens, and INV is int64 as inverse_fill_bits (super_blocks.py) writes it."""
import triton
import triton.language as tl
from kernels.attention.backward_q import store_dq
from kernels.attention.core import LOG2E, Rows, Sizes, Tile, load_keys, load_queries, load_row_values, query_tile, softmax_step
from kernels.attention.forward import store_output
from kernels.attention.masks import small_block
from kernels.tiles import find_tile


@triton.jit
def entries_of_tiles(PTR, STARTS, group, block, tile0, tile1, tiles, nblk):
    """First and past entry of the tokens of tiles tile0 .. tile1-1 in the list of a block; tiles are those of the inverse index."""
    starts = STARTS + group * tiles * nblk + block
    begin = tl.load(starts + tile0.to(tl.int64) * nblk)
    end = tl.load(starts + tile1.to(tl.int64) * nblk, mask=tile1 < tiles, other=0)
    return begin, tl.where(tile1 < tiles, end, tl.load(PTR + group * (nblk + 1) + block + 1))


@triton.jit
def listed_tile(INV, r, end, pos, bound, first, start, length, group, G: tl.constexpr, BM: tl.constexpr, HIDDEN: tl.constexpr, SUB: tl.constexpr):
    """The rows of entries r .. r + BM // G - 1, all before `end`, and which of the keys at pos each sees, of a block that begins at `first`
    and ends at `bound`."""
    rows = tl.arange(0, BM)
    t = tl.load(INV + tl.minimum(r + rows // G, end - 1))
    bits = (t >> 32).to(tl.int32) if SUB else None
    t = (t & 0x7fffffff).to(tl.int32) if SUB else t
    live = rows // G < tl.minimum(BM // G, end - r)
    newest = tl.where(live, t - HIDDEN if HIDDEN else t, -1)
    keep = pos[None, :] <= tl.minimum(newest, bound - 1)[:, None]
    if SUB:
        keep = keep & (((bits[:, None] >> small_block(pos, first, SUB)[None, :]) & 1) > 0)
    return Tile(start, length, 0, group, t.to(tl.int64), rows % G, live, start, length), keep


# tessera: types("q k v o: Rows(*TYPE:16, i32:16, i32:16)", "lse: Rows(*fp32:16, i32, 1)", "ACC STATE: *fp32:16", "PTR STARTS INV CU: *i32:16", "scale: fp32", "T nseq nblk tiles: i32")
# tessera: instance select_blocks_fwd_quick_f32(TYPE="fp32", G=1, LSEL=32, NSEL=6, BT=8, SPAN=64, D=32, DP=32, DT=0, E=32, EP=32, BM=32, BN=32)
# tessera: instance select_blocks_fwd_d64_f32(TYPE="fp32", G=1, LSEL=64, NSEL=16, BT=8, SPAN=1024, D=64, DP=64, DT=0, E=64, EP=64, BM=64, BN=64, SHARE=4)
# tessera: cpu(BM=64, BN=64)
# tessera: cpu(BM=32, BN=64)
# tessera: space(BM=[16, 32, 64, 128], BN=[16, 32, 64], where=G <= BM)
# tessera: grid(T // SPAN + B, H)
@triton.autotune(configs=[triton.Config({"BM": 64, "BN": 64}, num_warps=4, num_stages=1)], key=["G", "D", "E"])
@triton.jit(do_not_specialize=["T", "nseq", "nblk", "tiles"])
def select_blocks_fwd(q: Rows, k: Rows, v: Rows, PTR, STARTS, INV, ACC, STATE, o: Rows, lse: Rows, CU, scale, T, nseq, nblk, tiles,
                      G: tl.constexpr, LSEL: tl.constexpr, NSEL: tl.constexpr, BT: tl.constexpr, SPAN: tl.constexpr, D: tl.constexpr,
                      DP: tl.constexpr, DT: tl.constexpr, E: tl.constexpr, EP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
                      SHARE: tl.constexpr = 1, HIDDEN: tl.constexpr = 0, SUB: tl.constexpr = 0):
    """Computes o and lse. ACC fp32 [lists, T, G, EP] must be zero before the launch, STATE fp32 [2, lists, T, G] -inf (maxima) and 0
    (totals). BT divides SPAN."""
    tl.static_assert(BM // G > 0, "BM must hold all heads of a token")
    tl.static_assert(SPAN % BT == 0, "a program owns tiles of the inverse index")
    number = tl.num_programs(0) - 1 - tl.program_id(0)      # late tokens, which see most keys, first
    sequence, start, length, first = find_tile(CU, nseq, number, SPAN)
    if first >= length:
        return
    past = tl.minimum(first + SPAN, length)
    group = tl.program_id(1).to(tl.int64)
    head = group // SHARE if SHARE > 1 else group
    tile0 = start // BT + sequence + first // BT
    tile1 = tile0 + (past - first + BT - 1) // BT
    tokens = INV + group * T * NSEL
    e = tl.arange(0, EP)
    row0 = (group * T + start) * G
    totals = tl.num_programs(1).to(tl.int64) * T * G
    for block in range(0, (past - 1) // LSEL + 1):
        begin, end = entries_of_tiles(PTR, STARTS, group, start // LSEL + sequence + block, tile0, tile1, tiles, nblk)
        bound = tl.minimum((block + 1) * LSEL, length)
        for n in range(block * LSEL, bound, BN):
            pos = n + tl.arange(0, BN)
            kt = tl.trans(load_keys(k, start, length, n, head, 0, D, DP, BN))
            kt2 = tl.trans(load_keys(k, start, length, n, head, DP, D - DP, DT, BN)) if DT else None
            v1 = load_keys(v, start, length, n, head, 0, E, EP, BN)
            for r in range(begin, end, BM // G):
                tile, keep = listed_tile(tokens, r, end, pos, bound, block * LSEL, start, length, group, G, BM, HIDDEN, SUB)
                s = tl.dot(load_queries(q, tile, G, 0, D, DP), kt)
                if DT:
                    s = tl.dot(load_queries(q, tile, G, DP, D - DP, DT), kt2, s)
                s = tl.where(keep, s, float("-inf"))
                row = row0 + tile.t * G + tile.row
                acc = ACC + row[:, None] * EP + e[None, :]
                peak, total, sums = softmax_step(s, scale * LOG2E, v1, tl.load(STATE + row), tl.load(STATE + totals + row), tl.load(acc))
                tl.debug_barrier()               # idle rows have read what the last live row replaces
                tl.store(STATE + row, peak, mask=tile.live)
                tl.store(STATE + totals + row, total, mask=tile.live)
                tl.store(acc, sums, mask=tile.live[:, None])
                tl.debug_barrier()               # the next block's rows are read by other threads
    for t0 in range(first, past, BM // G):
        tile = query_tile(start, past, t0, group, start, length, G, BM, True)
        row = row0 + tile.t * G + tile.row
        total = tl.load(STATE + totals + row)
        store_output(o, lse, tl.load(STATE + row), total, tl.load(ACC + row[:, None] * EP + e[None, :]), total,
                     tile, Sizes(G, D, DP, DT, E, EP, BM, BN))


# tessera: types("q k v do: Rows(*TYPE:16, i32:16, i32:16)", "lse delta: Rows(*fp32:16, i32, 1)", "dq: Rows(*fp32:16, i32:16, i32:16)", "PTR STARTS INV CU: *i32:16", "scale: fp32", "T nseq nblk tiles: i32")
# tessera: instance select_blocks_bwd_dq_quick_f32(TYPE="fp32", G=1, LSEL=32, NSEL=6, BT=8, SPAN=64, D=32, DP=32, DT=0, E=32, EP=32, BM=32, BN=32)
# tessera: instance select_blocks_bwd_dq_d64_f32(TYPE="fp32", G=1, LSEL=64, NSEL=16, BT=8, SPAN=1024, D=64, DP=64, DT=0, E=64, EP=64, BM=64, BN=64, SHARE=4)
# tessera: cpu(BM=64, BN=64)
# tessera: cpu(BM=32, BN=64)
# tessera: space(BM=[16, 32, 64, 128], BN=[16, 32, 64], where=G <= BM)
# tessera: grid(T // SPAN + B, H)
@triton.autotune(configs=[triton.Config({"BM": 32, "BN": 64}, num_warps=4, num_stages=1)], key=["G", "D", "E"])
@triton.jit(do_not_specialize=["T", "nseq", "nblk", "tiles"])
def select_blocks_bwd_dq(q: Rows, k: Rows, v: Rows, PTR, STARTS, INV, do: Rows, lse: Rows, delta: Rows, dq: Rows, CU, scale, T, nseq, nblk,
                         tiles, G: tl.constexpr, LSEL: tl.constexpr, NSEL: tl.constexpr, BT: tl.constexpr, SPAN: tl.constexpr,
                         D: tl.constexpr, DP: tl.constexpr, DT: tl.constexpr, E: tl.constexpr, EP: tl.constexpr, BM: tl.constexpr,
                         BN: tl.constexpr, SHARE: tl.constexpr = 1, HIDDEN: tl.constexpr = 0, SUB: tl.constexpr = 0):
    """Adds to dq, fp32, block by block."""
    tl.static_assert(BM // G > 0, "BM must hold all heads of a token")
    tl.static_assert(SPAN % BT == 0, "a program owns tiles of the inverse index")
    number = tl.num_programs(0) - 1 - tl.program_id(0)      # late tokens, which see most keys, first
    sequence, start, length, first = find_tile(CU, nseq, number, SPAN)
    if first >= length:
        return
    past = tl.minimum(first + SPAN, length)
    group = tl.program_id(1).to(tl.int64)
    head = group // SHARE if SHARE > 1 else group
    tile0 = start // BT + sequence + first // BT
    tile1 = tile0 + (past - first + BT - 1) // BT
    tokens = INV + group * T * NSEL
    for block in range(0, (past - 1) // LSEL + 1):
        begin, end = entries_of_tiles(PTR, STARTS, group, start // LSEL + sequence + block, tile0, tile1, tiles, nblk)
        bound = tl.minimum((block + 1) * LSEL, length)
        for n in range(block * LSEL, bound, BN):
            pos = n + tl.arange(0, BN)
            k1 = load_keys(k, start, length, n, head, 0, D, DP, BN)
            k2 = load_keys(k, start, length, n, head, DP, D - DP, DT, BN) if DT else None
            vt = tl.trans(load_keys(v, start, length, n, head, 0, E, EP, BN))
            for r in range(begin, end, BM // G):
                tile, keep = listed_tile(tokens, r, end, pos, bound, block * LSEL, start, length, group, G, BM, HIDDEN, SUB)
                s = tl.dot(load_queries(q, tile, G, 0, D, DP), tl.trans(k1))
                if DT:
                    s = tl.dot(load_queries(q, tile, G, DP, D - DP, DT), tl.trans(k2), s)
                total = load_row_values(lse, tile, G) * LOG2E
                p = tl.where(keep, tl.exp2(s * (scale * LOG2E) - total[:, None]), 0.0)
                dp = tl.dot(load_queries(do, tile, G, 0, E, EP), vt)
                ds = (p * (dp - load_row_values(delta, tile, G)[:, None])).to(k1.dtype)
                tail = tl.dot(ds, k2) if DT else 0.0
                store_dq(dq, tl.dot(ds, k1) * scale, tail * scale, tile, Sizes(G, D, DP, DT, E, EP, BM, BN), True)
                tl.debug_barrier()               # the next block's rows are read by other threads
