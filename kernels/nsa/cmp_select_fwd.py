# kernels/nsa/cmp_select_fwd.py - one sweep over compressed tokens: their attention, the scores of selection blocks, the best n.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""o and lse are those of cmp_fwd. The score of block j is sum_i overlap(i, j) / STRIDE * sum_h p[h, i] with p = softmax(scale * q k^T) of the
heads h of a group (NSA, equations 9 and 10); IDX gets the NSEL blocks with the highest score (equation 11). The divisor is L unless STRIDE
divides both L and LSEL. q [T, H*G, D], k [Tc, H, D], v [Tc, H, E], o [T, H*G, E], lse [T, H*G], IDX [H, T, NSEL], SCORES [H, T, nscore], written if STORE.

SUMS [H, programs, tiles, TILE] is scratch memory. For each tile of BJ blocks it contains three arrays. [ARRAYS][BM][BJ]: for c = 0 .. ARRAYS - 1,
each row (token, head) and block j, the sum of exp(scale * q k - maximum so far) over the compressed tokens that begin in block j, weighted by
their overlap with block j + c. With MERGED there is one array, the sum over all compressed tokens that overlap block j. [BM]: that maximum, later
the factor of the row's sums. [BTP][BJ]: with WALK, each token's scores."""
from typing import NamedTuple

import triton
import triton.language as tl
from kernels.attention.core import LOG2E, Rows, Sizes, dot_slices, load_query_slices, no_keys, query_tile
from kernels.attention.forward import store_output
from kernels.attention.masks import compressed_count
from kernels.selection.top_blocks import keep_best, store_places
from kernels.tiles import find_tile, load_live_rows

UNSEEN = tl.constexpr(-2)                        # less than the code of every block
FORCED = tl.constexpr(0x7f800000)                # the code of infinity


class Sweep(NamedTuple):
    """The compile-time sizes of the selection."""
    L: tl.constexpr         # tokens of a compressed token
    STRIDE: tl.constexpr    # tokens between the first tokens of two compressed ones
    LSEL: tl.constexpr      # tokens of a block
    NSEL: tl.constexpr      # blocks to select
    NP: tl.constexpr        # NSEL rounded up to a power of two
    NINIT: tl.constexpr     # first blocks that are forced
    NLOCAL: tl.constexpr    # last blocks that are forced
    R: tl.constexpr         # a power of two, at least the compressed tokens that begin in a block
    REACH: tl.constexpr     # later blocks that a compressed token overlaps, at most
    BTP: tl.constexpr       # tokens of a tile, rounded up to a power of two
    BJ: tl.constexpr        # blocks of a tile
    BC: tl.constexpr        # blocks of a step of the selection
    W: tl.constexpr         # blocks that are kept, sorted; more than NSEL where a step has more
    TILE: tl.constexpr      # numbers of SUMS for a tile of blocks
    WALK: tl.constexpr      # whether the selection keeps codes alone and visits the scores twice
    MERGED: tl.constexpr    # whether SUMS has one sum for each block, as `merge` adds them up
    ARRAYS: tl.constexpr    # sums for each row and block: 1 with MERGED, otherwise REACH + 1


@triton.jit
def code_of(score, j, current, of):
    """Integers in the order of scores, which are not negative: their bits. NaN is less than these, forced blocks are more; blocks
    after the token's own are UNSEEN."""
    code = tl.where(score == score, tl.minimum(score, 3.0e38).to(tl.int32, bitcast=True), -1)
    code = tl.where((j[None, :] < of.NINIT) | (j[None, :] > current[:, None] - of.NLOCAL), FORCED, code)
    return tl.where(j[None, :] <= current[:, None], code, UNSEEN)


@triton.jit
def tokens_of_blocks(j0, of):
    """The compressed tokens that begin in blocks j0 .. j0+BJ-1, and where in their block, [R * BJ]: the r-th of each block in column
    r * BJ + (block of the tile). One that begins behind its block is of the next one. With MERGED the blocks are in another order: column
    c has block c % 8 // 2 * (BJ // 4) + c // 8 * 2 + c % 2, so that a thread of a tensor product's result has adjacent blocks."""
    rank = tl.arange(0, of.R)[:, None]
    c = tl.arange(0, of.BJ)
    if of.MERGED:
        c = c % 8 // 2 * (of.BJ // 4) + c // 8 * 2 + c % 2
    j = (j0 + c)[None, :]
    if of.LSEL % of.STRIDE == 0:
        i = j * (of.LSEL // of.STRIDE) + rank
        at = tl.zeros((of.BJ,), tl.int32)[None, :] + rank * of.STRIDE
    else:
        i = (j * of.LSEL + of.STRIDE - 1) // of.STRIDE + rank
        at = i * of.STRIDE - j * of.LSEL
    return tl.reshape(i, (of.R * of.BJ,)), tl.reshape(at, (of.R * of.BJ,))


@triton.jit
def shares(p, BM: tl.constexpr, R: tl.constexpr, BJ: tl.constexpr):
    """Of rows [BM, R * BJ], where L = 2 * STRIDE and LSEL = R * STRIDE: what the tokens of a block give to it, in units of overlap / STRIDE,
    and to the next one. Only the last token of a block reaches over its end, by half."""
    if R == 2:
        first, last = tl.split(tl.permute(tl.reshape(p, (BM, 2, BJ)), (0, 2, 1)))
    else:
        even, odd = tl.split(tl.permute(tl.reshape(p, (BM, 2, 2, BJ)), (0, 3, 1, 2)))
        p0, p2 = tl.split(even)
        p1, last = tl.split(odd)
        first = p0 + p1 + p2
    return first * 2.0 + last, last


@triton.jit
def merge(here, after, carried, BM: tl.constexpr, BJ: tl.constexpr):
    """The sum of each block, [BM, BJ], in the order of blocks: `here` from the tokens that begin in it and `after` [BM, BJ] from those of the block
    before, both in the order of tokens_of_blocks. carried [BM, 4] has in column 0 what the tile before gives to the first block. Also what
    this tile gives to the next one."""
    quarter = tl.broadcast_to(tl.arange(0, 4)[None, :], (BM, 4))
    if BJ == 16:
        even, odd = tl.split(tl.permute(tl.reshape(after, (BM, 2, 4, 2)), (0, 2, 1, 3)))       # of four adjacent blocks: 0 and 2, 1 and 3
        second, last = tl.split(odd)
        turned = tl.gather(last, (quarter + 3) % 4, 1)
        shifted = tl.join(tl.join(tl.where(quarter == 0, carried, turned), second), even)
        mine = tl.permute(tl.reshape(here, (BM, 2, 4, 2)), (0, 2, 1, 3))
    else:
        first, last = tl.split(tl.reshape(after, (BM, 4, 2)))
        turned = tl.gather(last, (quarter + 3) % 4, 1)
        shifted = tl.join(tl.where(quarter == 0, carried, turned), first)
        mine = tl.reshape(here, (BM, 4, 2))
    return tl.reshape(mine + shifted, (BM, BJ)), turned


@triton.jit
def store_gifts(cells, p, at, carried, BM: tl.constexpr, of):
    """Stores the sums of the tile's blocks from the rows p [BM, R * BJ]; returns what the next tile gets as `carried`."""
    UNIT: tl.constexpr = of.STRIDE if of.L % of.STRIDE + of.LSEL % of.STRIDE == 0 else of.L
    place = (tl.arange(0, BM) * of.BJ)[:, None] + tl.arange(0, of.BJ)[None, :]
    if of.MERGED:
        here, after = shares(p, BM, of.R, of.BJ)
        sums, carried = merge(here, after, carried, BM, of.BJ)
        tl.store(cells + place, sums)
    else:
        for c in tl.static_range(0, of.REACH + 1):
            weight = (tl.minimum(at + of.L, c * of.LSEL + of.LSEL) - tl.maximum(at, c * of.LSEL))[None, :]
            part = tl.where(weight > 0, p * (weight.to(tl.float32) / UNIT), 0.0)
            tl.store(cells + c * BM * of.BJ + place, tl.sum(tl.reshape(part, (BM, of.R, of.BJ)), 1))
    return carried


@triton.jit
def attend(q, k, v, tile, sums, ahead, most, blocks, slope, size, of):
    """(peak * slope, total, acc) as softmax_step has them, over the compressed tokens of the first `blocks` blocks, `most` of which a row
    of the tile sees."""
    q1, q2 = load_query_slices(q, tile, size)
    keys = k.ptr + tile.key0.to(tl.int64) * k.token + tile.group * k.head
    values = v.ptr + tile.key0.to(tl.int64) * v.token + tile.group * v.head
    seen = compressed_count(ahead + tile.t, (of.L, of.STRIDE, None))
    acc, peak, total = no_keys(size)
    carried = tl.zeros((size.BM, 4), tl.float32)
    for j0 in range(0, blocks, of.BJ):
        i, at = tokens_of_blocks(j0, of)
        k1 = load_live_rows(keys, i * k.token, i < most, size.D, size.DP)
        k2 = load_live_rows(keys + size.DP, i * k.token, i < most, size.D - size.DP, size.DT) if size.DT else None
        s = dot_slices(q1, q2, k1, k2, size.DT)
        keep = i[None, :] < seen[:, None]
        if of.R * of.STRIDE != of.LSEL:
            keep = keep & (at < of.LSEL)[None, :]
        s = tl.where(keep, s, float("-inf"))
        top = tl.maximum(peak, tl.max(s, 1))
        base = tl.where(top == float("-inf"), 0.0, top)
        p = tl.exp2(s * slope - (base * slope)[:, None])
        shrink = tl.exp2((peak - base) * slope)
        total = total * shrink + tl.sum(p, 1)
        v1 = load_live_rows(values, i * v.token, i < most, size.E, size.EP)
        acc = tl.dot(p.to(v1.dtype), v1, acc * shrink[:, None])
        peak = top
        cells = sums + j0 // of.BJ * of.TILE
        carried = store_gifts(cells, p, at, carried * shrink[:, None], size.BM, of)
        tl.store(cells + of.ARRAYS * size.BM * of.BJ + tl.arange(0, size.BM), base * slope)
    return peak * slope, total, acc


@triton.jit
def sum_heads(given, scales, G: tl.constexpr, BJ: tl.constexpr):
    """Sum over G heads of given[h * BJ] * scales[h], added in their order. Loads of eight heads are under way
    together: one after the other, their latency took longer than all else."""
    part = tl.load(given) * tl.load(scales)
    for first in tl.static_range(1, G, 8):
        x = ()
        y = ()
        for h in tl.static_range(first, first + 8):
            if h < G:
                x += (tl.load(given + h * BJ),)
                y += (tl.load(scales + h),)
        for i in tl.static_range(0, 8):
            if first + i < G:
                part += x[i] * y[i]
    return part


@triton.jit
def block_scores(sums, j, rel, seen, final, size, of):
    """The scores of blocks j [BC] for each token, [BTP, BC]."""
    begun = ((seen - 1) * of.STRIDE + of.LSEL) // of.LSEL                 # blocks in which a visible token begins
    ended = ((seen - 1) * of.STRIDE + of.L + of.LSEL - 1) // of.LSEL      # and those that one reaches into
    if of.MERGED:                                # a block into which a visible token reaches has a sum
        begun = tl.where(seen > 0, ended, 0)
    score = tl.zeros((of.BTP, of.BC), tl.float32)
    for c in tl.static_range(0, of.ARRAYS):
        block = tl.minimum(tl.maximum(j - c, 0), final)      # where there is none it counts for nothing
        tile = block // of.BJ * of.TILE
        given = sums + (tile + c * size.BM * of.BJ + block % of.BJ)[None, :] + (rel * (size.G * of.BJ))[:, None]
        scales = sums + (tile + of.ARRAYS * size.BM * of.BJ)[None, :] + (rel * size.G)[:, None]
        part = sum_heads(given, scales, size.G, of.BJ)
        score += tl.where((j >= c)[None, :] & ((j - c)[None, :] < begun[:, None]) & (j[None, :] < ended[:, None]), part, 0.0)
    return score


@triton.jit
def store_walked(out, best, kept, last, current, own, of):
    """Stores the NSEL best blocks from their codes, best [BTP, W], and the scores of all blocks at `kept`."""
    token = tl.arange(0, of.BTP)
    least = tl.max(tl.where((tl.arange(0, of.W) == of.NSEL - 1)[None, :], best, UNSEEN), 1)  # of the n best, and how many equal it
    equals = of.NSEL - tl.sum(tl.where(best > least[:, None], 1, 0), 1)
    equals = tl.where(least == UNSEEN, 0, equals)
    found = tl.zeros((of.BTP,), tl.int32)
    for c0 in range(0, last // of.LSEL + 1, of.BC):
        j = c0 + tl.arange(0, of.BC)
        score = tl.load(kept + (j // of.BJ * of.TILE + j % of.BJ)[None, :] + (token * of.BJ)[:, None], mask=j[None, :] <= current[:, None], other=0.0)
        code = code_of(score, j, current, of)
        same = tl.where(code == least[:, None], 1, 0)
        chosen = (code > least[:, None]) | ((same > 0) & (tl.cumsum(same, 1) <= equals[:, None]))
        equals -= tl.sum(same, 1)
        count = tl.where(chosen, 1, 0)
        tl.store(out[:, None] + (found[:, None] + tl.cumsum(count, 1) - 1), tl.where(chosen, j[None, :], 0), mask=own[:, None] & chosen)
        found += tl.sum(count, 1)
    pick = tl.arange(0, of.NP)
    tl.store(out[:, None] + pick[None, :], tl.full((of.BTP, of.NP), -1, tl.int32),
             mask=own[:, None] & (pick[None, :] >= found[:, None]) & (pick < of.NSEL)[None, :])


@triton.jit
def select_blocks(IDX, SCORES, sums, tile, last, ahead, visited, room, T, nscore, STORE: tl.constexpr, size, of):
    """Scores all blocks of the tile's tokens and stores the best."""
    LEAST: tl.constexpr = UNSEEN if of.WALK else UNSEEN << 32
    token = tl.arange(0, of.BTP)
    own = token < tl.minimum(size.BM // size.G, tile.length - tile.first)
    rel = tl.minimum(token, last - ahead - tile.first)
    current = tl.minimum((ahead + tile.first + rel) // of.LSEL, room - 1)
    seen = compressed_count(ahead + tile.first + rel, (of.L, of.STRIDE, None))
    row = tile.group * T + tile.start + tile.first
    kept = sums + (of.ARRAYS * size.BM * of.BJ + size.BM)
    best = tl.full((of.BTP, of.W), LEAST, tl.int32 if of.WALK else tl.int64)       # codes, or keys of code and index, descending
    for c0 in range(0, last // of.LSEL + 1, of.BC):
        j = c0 + tl.arange(0, of.BC)
        score = block_scores(sums, j, rel, seen, tl.maximum(visited - 1, 0), size, of)
        if STORE:
            tl.store(SCORES + row * nscore + (rel * nscore)[:, None] + j[None, :], score,
                     mask=own[:, None] & (j[None, :] <= current[:, None]) & (j[None, :] < nscore))
        key = code_of(score, j, current, of)
        if of.WALK:
            tl.store(kept + (j // of.BJ * of.TILE + j % of.BJ)[None, :] + (token * of.BJ)[:, None], score, mask=j[None, :] <= current[:, None])
        else:                                    # UNSEEN stays less than the key of every block
            key = (key.to(tl.int64) << 32) | (2147483647 - j)[None, :].to(tl.int64)
        best = keep_best(best, key, of.BC, of.W, LEAST)
    out = IDX + row * of.NSEL + rel * of.NSEL
    if of.WALK:
        store_walked(out, best, kept, last, current, own, of)
    else:
        index = tl.where((best >= -(1 << 32)) & (tl.arange(0, of.W) < of.NSEL)[None, :], 2147483647 - best.to(tl.int32), 2147483647)
        store_places(out, tl.sort(index), own, 1, of.NSEL, of.W)


@triton.jit
def sweep(q, k, v, o, lse, IDX, SCORES, sums, tile, ahead, room, scale, T, nscore, STORE: tl.constexpr, size, of):
    """Attention, scores and selection of one tile of whole tokens."""
    PEAKS: tl.constexpr = of.ARRAYS * size.BM * of.BJ
    last = ahead + tl.minimum(tile.first + size.BM // size.G, tile.length) - 1
    most = compressed_count(last, (of.L, of.STRIDE, None))
    visited = tl.minimum(((most - 1) * of.STRIDE + of.LSEL) // of.LSEL, room)    # blocks in which one of them begins
    if of.MERGED:                                # or into which one of them reaches
        visited = tl.where(most > 0, tl.minimum(((most - 1) * of.STRIDE + of.L + of.LSEL - 1) // of.LSEL, room), 0)
    peak, total, acc = attend(q, k, v, tile, sums, ahead, most, visited, scale * LOG2E, size, of)
    store_output(o, lse, peak, total, acc, total, tile, size)
    norm = tl.where(total == 0.0, 0.0, peak + tl.log2(tl.where(total == 0.0, 1.0, total)))
    tl.debug_barrier()
    for j0 in range(0, visited, of.BJ):          # maxima so far become factors of the sums
        cell = sums + j0 // of.BJ * of.TILE + PEAKS + tl.arange(0, size.BM)
        tl.store(cell, tl.exp2(tl.load(cell) - norm))
    tl.debug_barrier()
    select_blocks(IDX, SCORES, sums, tile, last, ahead, visited, room, T, nscore, STORE, size, of)
    tl.debug_barrier()                           # the next tile's sums go to the same place


# tessera: types("q k v o: Rows(*TYPE:16, i32:16, i32:16)", "lse: Rows(*fp32:16, i32, 1)", "SCORES SUMS: *fp32:16", "IDX CU CU_CMP: *i32:16", "scale: fp32", "T nseq nscore blocks ahead: i32")
# tessera: instance cmp_select_fwd_quick_f32(TYPE="fp32", G=3, L=16, STRIDE=8, LSEL=32, NSEL=6, NP=8, NINIT=1, NLOCAL=2, D=32, DP=32, DT=0, E=32, EP=32, STORE=0, BM=64, BJ=16, BC=32, WALK=1, MERGE=1)
# tessera: instance cmp_select_fwd_d64_f32(TYPE="fp32", G=4, L=32, STRIDE=16, LSEL=64, NSEL=16, NP=16, NINIT=1, NLOCAL=2, D=64, DP=64, DT=0, E=64, EP=64, STORE=0, BM=64, BJ=16, BC=32, WALK=1, MERGE=1)
# tessera: instance cmp_select_fwd_paper_bf16(TYPE="bf16", lse="Rows(*fp32:16, i32:16, 1)", G=16, L=32, STRIDE=16, LSEL=64, NSEL=16, NP=16, NINIT=1, NLOCAL=2, D=192, DP=128, DT=64, E=128, EP=128, STORE=0, BM=64, BJ=16, BC=32, WALK=1, MERGE=1)
# tessera: cpu(BM=64, BJ=16, BC=16, WALK=0, MERGE=0)
# tessera: space(BC=[8, 16, 32, 64])
# tessera: grid(min(cdiv(216, H), T // (BM // G) + B), H)
@triton.autotune(configs=[triton.Config({"BM": 64, "BJ": 16, "BC": step, "WALK": 1, "MERGE": 1}, num_warps=4, num_stages=3) for step in (32, 16)],
                 key=["G", "D", "NSEL"])
@triton.jit(do_not_specialize=["T", "nscore", "blocks", "nseq", "ahead"])
def cmp_select_fwd(q: Rows, k: Rows, v: Rows, o: Rows, lse: Rows, IDX, SCORES, SUMS, CU, CU_CMP, scale, T, nseq, nscore, blocks, ahead,
                   G: tl.constexpr, L: tl.constexpr, STRIDE: tl.constexpr, LSEL: tl.constexpr, NSEL: tl.constexpr, NP: tl.constexpr,
                   NINIT: tl.constexpr, NLOCAL: tl.constexpr, D: tl.constexpr, DP: tl.constexpr, DT: tl.constexpr, E: tl.constexpr,
                   EP: tl.constexpr, STORE: tl.constexpr, BM: tl.constexpr, BJ: tl.constexpr, BC: tl.constexpr, WALK: tl.constexpr,
                   MERGE: tl.constexpr):
    """A program computes several tiles, one after another: BM rows (token, head) of complete tokens and one KV head. For each it visits
    tiles of BJ blocks. The result does not depend on the number of programs. `scale` > 0.

    Without WALK, one pass over the scores keeps the best NSEL blocks, sorted by score and index. With WALK, the pass keeps only their
    scores, as integers, which is a quarter of the work on a GPU; a second pass takes the blocks whose score reaches the lowest of these. WALK
    is 0 on the CPU and 1 on a GPU; both select the same blocks from the same scores. Order: score descending, then index ascending; forced blocks first; NaN after
    every number. For decoding, `ahead` tokens of each sequence precede its first query, and its cache starts in row CU_CMP[b]. SUMS has Hkv *
    programs * cdiv(blocks, BJ) * ((ARRAYS * BJ + 1) * BM + next_power_of_2(BM // G) * BJ) elements: `blocks` bounds the blocks of a
    sequence. ARRAYS is 1 with MERGE where L = 2 * STRIDE, LSEL is 2 or 4 times STRIDE and BJ is 8 or 16; otherwise it is 1 more than the later
    blocks that a compressed token overlaps. MERGE halves the traffic of SUMS; a score is then another sum, rounded differently.
    """
    BT: tl.constexpr = BM // G                   # whole tokens; the last BM % G rows of a tile are idle
    tl.static_assert(BT > 0, "BM must hold all heads of a token")
    BTP: tl.constexpr = triton.next_power_of_2(BT)
    R: tl.constexpr = triton.next_power_of_2((LSEL + STRIDE - 1) // STRIDE)
    REACH: tl.constexpr = (LSEL - (STRIDE if LSEL % STRIDE == 0 else 1) + L - 1) // LSEL
    MERGED: tl.constexpr = 1 if MERGE and L == 2 * STRIDE and (LSEL == 2 * STRIDE or LSEL == 4 * STRIDE) and (BJ == 8 or BJ == 16) else 0
    ARRAYS: tl.constexpr = 1 if MERGED else REACH + 1
    TILE: tl.constexpr = ARRAYS * BM * BJ + BM + BTP * BJ
    group = tl.program_id(1).to(tl.int64)
    room = (blocks + BJ - 1) // BJ * BJ
    sums = SUMS + (group * tl.num_programs(0) + tl.program_id(0)) * (room // BJ) * TILE
    tiles = T // BT + nseq
    for turn in range(tl.program_id(0), tiles, tl.num_programs(0)):
        b, start, length, first = find_tile(CU, nseq, tiles - 1 - turn, BT)      # late tokens, which see most keys, first
        if first < length:
            tile = query_tile(start, length, first, group, tl.load(CU_CMP + b), 0, G, BM)
            sweep(q, k, v, o, lse, IDX, SCORES, sums, tile, ahead, room, scale, T, nscore, STORE, Sizes(G, D, DP, DT, E, EP, BM, BJ),
                  Sweep(L, STRIDE, LSEL, NSEL, NP, NINIT, NLOCAL, R, REACH, BTP, BJ, BC, NP if NP > BC else BC, TILE, WALK, MERGED, ARRAYS))
