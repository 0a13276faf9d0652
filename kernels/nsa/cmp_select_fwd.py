# kernels/nsa/cmp_select_fwd.py - one sweep over compressed tokens: their attention, the scores of selection blocks, the best n.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl
from kernels.attention.core import LN2, LOG2E
from kernels.tiles import find_tile, load_live_rows, load_rows


NOTHING = tl.constexpr(-2)                       # less than the code of every block
FORCED = tl.constexpr(0x7f800000)                # the code of infinity


@triton.jit
def code_of(score, j, current, NINIT: tl.constexpr, NLOCAL: tl.constexpr):
    """Integers in the order of scores, which are not negative: their bits. NaN is less than these, forced blocks are more; blocks
    behind the token's own are NOTHING."""
    code = tl.where(score == score, tl.minimum(score, 3.0e38).to(tl.int32, bitcast=True), -1)
    code = tl.where((j[None, :] < NINIT) | (j[None, :] > current[:, None] - NLOCAL), FORCED, code)
    return tl.where(j[None, :] <= current[:, None], code, NOTHING)


@triton.jit
def shares(p, BM: tl.constexpr, R: tl.constexpr, BJ: tl.constexpr):
    """Of rows [BM, R * BJ], r-th compressed token of block j in column r * BJ + j, where l = 2 d and l' = R d: what they give to
    their block, in units of overlap / d, and to the next one. Only the last token of a block reaches over its end, by half."""
    if R == 2:
        first, last = tl.split(tl.permute(tl.reshape(p, (BM, 2, BJ)), (0, 2, 1)))
    else:
        even, odd = tl.split(tl.permute(tl.reshape(p, (BM, 2, 2, BJ)), (0, 3, 1, 2)))
        p0, p2 = tl.split(even)
        p1, last = tl.split(odd)
        first = p0 + p1 + p2
    return first * 2.0 + last, last


@triton.jit
def sum_heads(given, scales, G: tl.constexpr, BJ: tl.constexpr):
    """Sum over G heads of given[h * BJ] * scales[h], added in their order. Loads of eight heads are under way
    together: one after the other, their latency took longer than all else."""
    part = tl.load(given) * tl.load(scales)
    for h in tl.static_range(1, G, 8):
        if h + 0 < G:
            x0 = tl.load(given + (h + 0) * BJ)
            y0 = tl.load(scales + (h + 0))
        if h + 1 < G:
            x1 = tl.load(given + (h + 1) * BJ)
            y1 = tl.load(scales + (h + 1))
        if h + 2 < G:
            x2 = tl.load(given + (h + 2) * BJ)
            y2 = tl.load(scales + (h + 2))
        if h + 3 < G:
            x3 = tl.load(given + (h + 3) * BJ)
            y3 = tl.load(scales + (h + 3))
        if h + 4 < G:
            x4 = tl.load(given + (h + 4) * BJ)
            y4 = tl.load(scales + (h + 4))
        if h + 5 < G:
            x5 = tl.load(given + (h + 5) * BJ)
            y5 = tl.load(scales + (h + 5))
        if h + 6 < G:
            x6 = tl.load(given + (h + 6) * BJ)
            y6 = tl.load(scales + (h + 6))
        if h + 7 < G:
            x7 = tl.load(given + (h + 7) * BJ)
            y7 = tl.load(scales + (h + 7))
        if h + 0 < G:
            part += x0 * y0
        if h + 1 < G:
            part += x1 * y1
        if h + 2 < G:
            part += x2 * y2
        if h + 3 < G:
            part += x3 * y3
        if h + 4 < G:
            part += x4 * y4
        if h + 5 < G:
            part += x5 * y5
        if h + 6 < G:
            part += x6 * y6
        if h + 7 < G:
            part += x7 * y7
    return part


# tessera: types("Q K V O: *TYPE:16", "LSE SCORES SUMS: *fp32:16", "IDX CU CU_CMP: *i32:16", "scale: fp32", "T nseq nscore blocks ahead slset: i32", "slseh: 1", "s*: i32:16")
# tessera: instance cmp_select_fwd_quick_f32(TYPE="fp32", G=3, L=16, STRIDE=8, LSEL=32, NSEL=6, NP=8, NINIT=1, NLOCAL=2, D=32, DP=32, DT=0, E=32, EP=32, STORE=0, BM=64, BJ=16, BC=32, WALK=1)
# tessera: instance cmp_select_fwd_d64_f32(TYPE="fp32", G=4, L=32, STRIDE=16, LSEL=64, NSEL=16, NP=16, NINIT=1, NLOCAL=2, D=64, DP=64, DT=0, E=64, EP=64, STORE=0, BM=64, BJ=16, BC=32, WALK=1)
# tessera: instance cmp_select_fwd_paper_bf16(TYPE="bf16", slset="i32:16", G=16, L=32, STRIDE=16, LSEL=64, NSEL=16, NP=16, NINIT=1, NLOCAL=2, D=192, DP=128, DT=64, E=128, EP=128, STORE=0, BM=64, BJ=16, BC=32, WALK=1)
# tessera: cpu(BM=64, BJ=16, BC=16, WALK=0)
# tessera: space(BC=[8, 16, 32, 64])
# tessera: grid(min(cdiv(216, H), T // (BM // G) + B), H)
@triton.autotune(
    configs=[
        triton.Config({"BM": 64, "BJ": 16, "BC": 32, "WALK": 1}, num_warps=4, num_stages=2),
        triton.Config({"BM": 64, "BJ": 16, "BC": 16, "WALK": 1}, num_warps=4, num_stages=2),
    ],
    key=["G", "D", "NSEL"],
)
@triton.jit(do_not_specialize=["T", "nscore", "blocks", "nseq", "ahead"])
def cmp_select_fwd(Q, K, V, O, LSE, IDX, SCORES, SUMS, CU, CU_CMP, scale, T, nseq, nscore, blocks, ahead,
                   sqt, sqh, skt, skh, svt, svh, sot, soh, slset, slseh,
                   G: tl.constexpr, L: tl.constexpr, STRIDE: tl.constexpr, LSEL: tl.constexpr, NSEL: tl.constexpr, NP: tl.constexpr,
                   NINIT: tl.constexpr, NLOCAL: tl.constexpr, D: tl.constexpr, DP: tl.constexpr, DT: tl.constexpr, E: tl.constexpr,
                   EP: tl.constexpr, STORE: tl.constexpr, BM: tl.constexpr, BJ: tl.constexpr, BC: tl.constexpr, WALK: tl.constexpr):
    """A program takes one tile of whole tokens after another, BM rows (token, head) of one KV head, and walks tiles of BJ blocks.

    A tile holds the compressed tokens that begin in its blocks, r-th of each block in column r * BJ + (block of the tile). Beside
    the attention's sums it leaves, for each row, what the tokens of block j give to block j + c (Eq. 9), relative to the row's
    maximum so far, in SUMS [tile][c][row][block of the tile], that maximum behind each tile, and room for scores behind both. At the end these
    sums are scaled by exp(maximum - lse) and added over the heads. The best NSEL blocks are kept sorted by score and index, or with
    WALK the codes of their scores alone, a quarter of the work on a GPU: the least of them says which blocks a second walk takes.
    Order: score descending, then index ascending; forced blocks first; NaN after every number. `ahead` tokens of each sequence stand before its first query.
    """
    BT: tl.constexpr = BM // G                   # whole tokens; the last BM % G rows of a tile are idle
    BTP: tl.constexpr = triton.next_power_of_2(BT)
    W: tl.constexpr = NP if NP > BC else BC      # blocks that are kept, sorted; more than NSEL where a step has more
    EVEN: tl.constexpr = LSEL % STRIDE == 0
    RANKS: tl.constexpr = (LSEL + STRIDE - 1) // STRIDE      # most compressed tokens that begin in a block
    R: tl.constexpr = triton.next_power_of_2(RANKS)
    REACH: tl.constexpr = (LSEL - (STRIDE if EVEN else 1) + L - 1) // LSEL     # later blocks that a token overlaps
    UNIT: tl.constexpr = STRIDE if L % STRIDE + LSEL % STRIDE == 0 else L
    SHARES: tl.constexpr = WALK and L == 2 * STRIDE and (LSEL == 2 * STRIDE or LSEL == 4 * STRIDE)
    tl.static_assert(BT > 0, "BM must hold all heads of a token")
    LEAST: tl.constexpr = NOTHING if WALK else NOTHING << 32
    PLANE: tl.constexpr = BM * BJ
    TILE: tl.constexpr = (REACH + 1) * PLANE + BM + BTP * BJ
    group = tl.program_id(1).to(tl.int64)
    room = (blocks + BJ - 1) // BJ * BJ
    sums = SUMS + (group * tl.num_programs(0) + tl.program_id(0)) * (room // BJ) * TILE
    slope = scale * LOG2E                        # scores in units of log 2
    rows = tl.arange(0, BM)
    head = rows % G
    rank = tl.arange(0, R)
    lane = tl.arange(0, BJ)
    slot = tl.arange(0, W)
    tiles = T // BT + nseq
    for turn in range(tl.program_id(0), tiles, tl.num_programs(0)):
        tile = tiles - 1 - turn                  # late tokens, which see most keys, first
        b, start, length, t0 = find_tile(CU, nseq, tile, BT)
        if t0 < length:
            live = rows // G < tl.minimum(BT, length - t0)
            t = tl.minimum(t0 + rows // G, length - 1)     # rows past the end repeat the last token and are not stored
            rel = t - t0
            last = ahead + tl.minimum(t0 + BT, length) - 1
            token0 = (start + t0).to(tl.int64)
            cmp_start = tl.load(CU_CMP + b).to(tl.int64)
            seen = tl.maximum(ahead + t + 1 - L + STRIDE, 0) // STRIDE          # compressed tokens visible to each row
            most = tl.maximum(last + 1 - L + STRIDE, 0) // STRIDE
            begins = tl.minimum(((most - 1) * STRIDE + LSEL) // LSEL, room)      # blocks in which one of them begins
            q = load_rows(Q + token0 * sqt + group * G * sqh, rel * sqt + head * sqh, D, DP)
            if DT:
                q2 = load_rows(Q + token0 * sqt + group * G * sqh + DP, rel * sqt + head * sqh, D - DP, DT)
            keys = K + cmp_start * skt + group * skh
            values = V + cmp_start * svt + group * svh

            peak = tl.full((BM,), float("-inf"), tl.float32)
            total = tl.zeros((BM,), tl.float32)
            acc = tl.zeros((BM, EP), tl.float32)
            for j0 in range(0, begins, BJ):
                if EVEN:
                    at = tl.zeros((BJ,), tl.int32)[None, :] + (rank * STRIDE)[:, None]
                    i = ((j0 + lane) * RANKS)[None, :] + rank[:, None]
                else:
                    i = (((j0 + lane) * LSEL + STRIDE - 1) // STRIDE)[None, :] + rank[:, None]
                    at = i * STRIDE - ((j0 + lane) * LSEL)[None, :]    # where it begins in its block; behind it: it is of the next one
                i = tl.reshape(i, (R * BJ,))
                at = tl.reshape(at, (R * BJ,))
                k = load_live_rows(keys, i * skt, i < most, D, DP)
                if DT:
                    k2 = load_live_rows(keys + DP, i * skt, i < most, D - DP, DT)
                s = tl.dot(q, tl.trans(k))
                if DT:
                    s = tl.dot(q2, tl.trans(k2), s)
                keep = i[None, :] < seen[:, None]
                if R * STRIDE != LSEL:
                    keep = keep & (at < LSEL)[None, :]
                s = tl.where(keep, s, float("-inf"))
                top = tl.maximum(peak, tl.max(s, 1))
                base = tl.where(top == float("-inf"), 0.0, top)
                p = tl.exp2(s * slope - (base * slope)[:, None])
                shrink = tl.exp2((peak - base) * slope)
                total = total * shrink + tl.sum(p, 1)
                v = load_live_rows(values, i * svt, i < most, E, EP)
                acc = tl.dot(p.to(v.dtype), v, acc * shrink[:, None])
                peak = top
                cells = sums + j0 // BJ * TILE
                if SHARES:
                    here, after = shares(p, BM, R, BJ)
                    tl.store(cells + (rows * BJ)[:, None] + lane[None, :], here)
                    tl.store(cells + PLANE + (rows * BJ)[:, None] + lane[None, :], after)
                else:
                    for c in tl.static_range(0, REACH + 1):
                        weight = (tl.minimum(at + L, c * LSEL + LSEL) - tl.maximum(at, c * LSEL))[None, :]
                        part = tl.where(weight > 0, p * (weight.to(tl.float32) / UNIT), 0.0)
                        part = tl.sum(tl.reshape(part, (BM, R, BJ)), 1)
                        tl.store(cells + c * PLANE + (rows * BJ)[:, None] + lane[None, :], part)
                tl.store(cells + (REACH + 1) * PLANE + rows, base * slope)

            none = total == 0.0                  # a row without keys: o = 0, lse = -inf
            total = tl.where(none, 1.0, total)
            acc = acc / total[:, None]
            norm = tl.where(none, 0.0, peak * slope + tl.log2(total))
            e = tl.arange(0, EP)
            out = O + token0 * sot + group * G * soh
            tl.store(out + (rel * sot + head * soh)[:, None] + e[None, :], acc.to(O.dtype.element_ty),
                     mask=live[:, None] & (e[None, :] < E))
            tl.store(LSE + token0 * slset + group * G * slseh + rel * slset + head * slseh,
                     tl.where(none, float("-inf"), norm * LN2), mask=live)
            tl.debug_barrier()
            for j0 in range(0, begins, BJ):
                cell = sums + j0 // BJ * TILE + (REACH + 1) * PLANE + rows
                tl.store(cell, tl.exp2(tl.load(cell) - norm))
            tl.debug_barrier()

            token = tl.arange(0, BTP)
            own = token < tl.minimum(BT, length - t0)
            rel = tl.minimum(token, last - ahead - t0)
            current = tl.minimum((ahead + t0 + rel) // LSEL, room - 1)
            seen = tl.maximum(ahead + t0 + rel + 1 - L + STRIDE, 0) // STRIDE
            begun = ((seen - 1) * STRIDE + LSEL) // LSEL         # blocks in which a visible token begins
            ended = ((seen - 1) * STRIDE + L + LSEL - 1) // LSEL          # and those that one reaches into
            final = tl.maximum(begins - 1, 0)
            kept = sums + ((REACH + 1) * PLANE + BM)             # a token's scores
            best = tl.full((BTP, W), LEAST, tl.int32 if WALK else tl.int64)        # codes, or keys of code and index, descending
            step = tl.arange(0, BC)
            for c0 in range(0, last // LSEL + 1, BC):
                j = c0 + step
                score = tl.zeros((BTP, BC), tl.float32)
                for c in tl.static_range(0, REACH + 1):
                    of = tl.minimum(tl.maximum(j - c, 0), final)          # where it has none it counts for nothing
                    tile_of = of // BJ * TILE
                    given = sums + (tile_of + c * PLANE + of % BJ)[None, :] + (rel * (G * BJ))[:, None]
                    scales = sums + (tile_of + (REACH + 1) * PLANE)[None, :] + (rel * G)[:, None]
                    part = sum_heads(given, scales, G, BJ)
                    score += tl.where((j >= c)[None, :] & ((j - c)[None, :] < begun[:, None]) & (j[None, :] < ended[:, None]), part, 0.0)
                if STORE:
                    cells = SCORES + (group * T + start + t0) * nscore
                    tl.store(cells + (rel * nscore)[:, None] + j[None, :], score,
                             mask=own[:, None] & (j[None, :] <= current[:, None]) & (j[None, :] < nscore))
                key = code_of(score, j, current, NINIT, NLOCAL)
                if WALK:
                    tl.store(kept + (j // BJ * TILE + j % BJ)[None, :] + (token * BJ)[:, None], score, mask=j[None, :] <= current[:, None])
                else:                            # NOTHING stays less than the key of every block
                    key = (key.to(tl.int64) << 32) | (2147483647 - j)[None, :].to(tl.int64)
                # Of two sorted lists, one upside down, the greater of each pair are the best of both.
                key = tl.sort(key)
                if W > BC:
                    place = step[:, None] + (W - BC) == slot[None, :]
                    key = tl.max(tl.where(place[None, :, :], key[:, :, None], LEAST), 1)
                best = tl.sort(tl.maximum(best, key), descending=True)

            out = IDX + (group * T + start + t0) * NSEL + rel * NSEL
            if WALK:
                least = tl.max(tl.where((slot == NSEL - 1)[None, :], best, NOTHING), 1)     # of the n best, and how many equal it
                equals = NSEL - tl.sum(tl.where(best > least[:, None], 1, 0), 1)
                equals = tl.where(least == NOTHING, 0, equals)
                found = tl.zeros((BTP,), tl.int32)
                for c0 in range(0, last // LSEL + 1, BC):
                    j = c0 + step
                    score = tl.load(kept + (j // BJ * TILE + j % BJ)[None, :] + (token * BJ)[:, None],
                                    mask=j[None, :] <= current[:, None], other=0.0)
                    code = code_of(score, j, current, NINIT, NLOCAL)
                    same = tl.where(code == least[:, None], 1, 0)
                    chosen = (code > least[:, None]) | ((same > 0) & (tl.cumsum(same, 1) <= equals[:, None]))
                    equals -= tl.sum(same, 1)
                    count = tl.where(chosen, 1, 0)
                    tl.store(out[:, None] + (found[:, None] + tl.cumsum(count, 1) - 1), tl.where(chosen, j[None, :], 0),
                             mask=own[:, None] & chosen)
                    found += tl.sum(count, 1)
                pick = tl.arange(0, NP)
                tl.store(out[:, None] + pick[None, :], tl.full((BTP, NP), -1, tl.int32),
                         mask=own[:, None] & (pick[None, :] >= found[:, None]) & (pick < NSEL)[None, :])
            else:
                index = tl.where((best >= -(1 << 32)) & (slot < NSEL)[None, :], 2147483647 - best.to(tl.int32), 2147483647)
                index = tl.sort(index)           # ascending, -1 after the last
                tl.store(out[:, None] + slot[None, :], tl.where(index == 2147483647, -1, index),
                         mask=own[:, None] & (slot < NSEL)[None, :])
            tl.debug_barrier()                   # the next tile's sums go to the same place
