# kernels/nsa/score_select.py - block scores from the compressed attention (Eq. 9, group sum) and the best n blocks.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl


@triton.jit
def load_rows(ptr, offs, N: tl.constexpr, NP: tl.constexpr):
    """The first NP columns of rows that start at ptr + offs, N elements each; columns N .. NP-1 read as zero."""
    cols = tl.arange(0, NP)
    if N >= NP:
        x = tl.load(ptr + offs[:, None] + cols[None, :])
    else:
        x = tl.load(ptr + offs[:, None] + cols[None, :], mask=cols[None, :] < N, other=0.0)
    return x


@triton.jit
def find_tile(CU, nseq, tile, SIZE: tl.constexpr):
    """Tile number -> its sequence, that one's first entry and length, and the tile's first entry in the sequence.

    CU are prefix sums, SIZE the entries of a tile. Sequence b owns the tiles from CU[b] // SIZE + b on, which is enough for
    every length; the last of them may be empty: it starts at the length or behind it.
    """
    low = tile * 0
    high = low + nseq - 1
    while low < high:                            # the last sequence that starts at this tile or before
        middle = (low + high + 1) // 2
        if tl.load(CU + middle) // SIZE + middle <= tile:
            low = middle
        else:
            high = middle - 1
    start = tl.load(CU + low)
    return low, start, tl.load(CU + low + 1) - start, (tile - start // SIZE - low) * SIZE


# tessera: instance score_select_quick_f32(Q="*fp32:16", K="*fp32:16", LSE="*fp32:16", IDX="*i32:16", SCORES="*fp32:16", CU="*i32:16", CU_CMP="*i32:16", scale="fp32", T="i32", nseq="i32", nscore="i32", sqt="i32:16", sqh="i32:16", skt="i32:16", skh="i32:16", slset="i32", slseh=1, G=3, L=16, STRIDE=8, LSEL=32, NSEL=6, NP=8, NINIT=1, NLOCAL=2, D=32, DP=32, DT=0, STORE=0, BT=32, BJ=16)
# tessera: instance score_select_d64_f32(Q="*fp32:16", K="*fp32:16", LSE="*fp32:16", IDX="*i32:16", SCORES="*fp32:16", CU="*i32:16", CU_CMP="*i32:16", scale="fp32", T="i32", nseq="i32", nscore="i32", sqt="i32:16", sqh="i32:16", skt="i32:16", skh="i32:16", slset="i32", slseh=1, G=4, L=32, STRIDE=16, LSEL=64, NSEL=16, NP=16, NINIT=1, NLOCAL=2, D=64, DP=64, DT=0, STORE=0, BT=32, BJ=16)
# tessera: instance score_select_paper_bf16(Q="*bf16:16", K="*bf16:16", LSE="*fp32:16", IDX="*i32:16", SCORES="*fp32:16", CU="*i32:16", CU_CMP="*i32:16", scale="fp32", T="i32", nseq="i32", nscore="i32", sqt="i32:16", sqh="i32:16", skt="i32:16", skh="i32:16", slset="i32:16", slseh=1, G=16, L=32, STRIDE=16, LSEL=64, NSEL=16, NP=16, NINIT=1, NLOCAL=2, D=192, DP=128, DT=64, STORE=0, BT=32, BJ=16)
# tessera: cpu(BT=32, BJ=16)
# tessera: cpu(BT=32, BJ=32)
# tessera: space(BT=[8, 16, 32, 64], BJ=[8, 16, 32, 64], where=BT * BJ <= 2048)
# tessera: grid(T // BT + B, H)
@triton.autotune(
    configs=[
        triton.Config({"BT": 32, "BJ": 32}, num_warps=4, num_stages=2),
        triton.Config({"BT": 16, "BJ": 64}, num_warps=4, num_stages=2),
    ],
    key=["G", "D", "NSEL"],
)
@triton.jit(do_not_specialize=["T", "nscore", "nseq"])
def score_select(Q, K, LSE, IDX, SCORES, CU, CU_CMP, scale, T, nseq, nscore, sqt, sqh, skt, skh, slset, slseh,
                 G: tl.constexpr, L: tl.constexpr, STRIDE: tl.constexpr, LSEL: tl.constexpr, NSEL: tl.constexpr,
                 NP: tl.constexpr, NINIT: tl.constexpr, NLOCAL: tl.constexpr, D: tl.constexpr, DP: tl.constexpr, DT: tl.constexpr,
                 STORE: tl.constexpr, BT: tl.constexpr, BJ: tl.constexpr):
    """BT tokens of one KV head. Walks tiles of BJ selection blocks; keeps the best NSEL of all blocks so far.

    The score of block j is the sum over compressed tokens i of overlap(i,j)/STRIDE * sum over heads of p[i]. At most
    NOFF tokens overlap a block, so the o-th overlapping token of all BJ blocks is one gathered tile of K.
    A probability is recomputed from q, k and lse and never stored. Order: score descending, then index ascending;
    forced blocks first; NaN after every number.
    """
    tile = tl.num_programs(0) - 1 - tl.program_id(0)        # late tokens, which see most keys, first
    b, start, length, t0 = find_tile(CU, nseq, tile, BT)
    group = tl.program_id(1).to(tl.int64)
    if t0 >= length:
        return
    cmp_start = tl.load(CU_CMP + b).to(tl.int64)
    count = tl.load(CU_CMP + b + 1) - tl.load(CU_CMP + b)
    live = t0 + tl.arange(0, BT) < length
    t = tl.minimum(t0 + tl.arange(0, BT), length - 1)
    rel = t - t0
    last = tl.minimum(t0 + BT - 1, length - 1)
    current = t // LSEL
    seen = tl.maximum(t + 1 - L + STRIDE, 0) // STRIDE
    token0 = (start + t0).to(tl.int64)
    qbase = Q + token0 * sqt + group * G * sqh
    lbase = LSE + token0 * slset + group * G * slseh
    slope = scale * 1.4426950408889634
    EXACT: tl.constexpr = L % STRIDE + LSEL % STRIDE == 0
    NOFF: tl.constexpr = (L + LSEL) // STRIDE - 1 if EXACT else (L + LSEL - 2) // STRIDE + 1
    UNIT: tl.constexpr = STRIDE if EXACT else L
    offsets = NOFF * tl.minimum(tl.maximum(last + 2 - L, 0), 1)        # none before the first block is complete

    slot = tl.arange(0, NP)
    best = tl.full((BT, NP), -2.0, tl.float32)           # -2: nothing here; -1: NaN; scores are >= 0
    index = tl.full((BT, NP), 2147483647, tl.int32)
    for j0 in range(0, last // LSEL + 1, BJ):
        j = j0 + tl.arange(0, BJ)
        low = tl.maximum(j * LSEL - L + STRIDE, 0) // STRIDE           # first compressed token overlapping block j
        score = tl.zeros((BT, BJ), tl.float32)
        for o in range(0, offsets):
            i = low + o
            weight = tl.minimum(i * STRIDE + L, (j + 1) * LSEL) - tl.maximum(i * STRIDE, j * LSEL)
            kt = tl.trans(load_rows(K + cmp_start * skt + group * skh, tl.minimum(i, count - 1) * skt, D, DP))
            if DT:
                kt2 = tl.trans(load_rows(K + cmp_start * skt + group * skh + DP, tl.minimum(i, count - 1) * skt, D - DP, DT))
            counts = (i[None, :] < seen[:, None]) & (weight > 0)[None, :]
            mass = tl.zeros((BT, BJ), tl.float32)
            for g in range(0, G):
                q = load_rows(qbase + g * sqh, rel * sqt, D, DP)
                if DT:
                    q2 = load_rows(qbase + g * sqh + DP, rel * sqt, D - DP, DT)
                lse = tl.load(lbase + g * slseh + rel * slset) * 1.4426950408889634
                s = tl.dot(q, kt)
                if DT:
                    s = tl.dot(q2, kt2, s)
                s = s * slope
                mass += tl.where(counts, tl.exp2(s - lse[:, None]), 0.0)
            score += mass * (weight.to(tl.float32) / UNIT)[None, :]
        if STORE:
            cells = SCORES + (group * T + start + t0) * nscore
            tl.store(cells + (rel * nscore)[:, None] + j[None, :], score,
                     mask=live[:, None] & (j[None, :] <= current[:, None]) & (j[None, :] < nscore))
        rank = tl.where(score == score, tl.minimum(score, 3.0e38), -1.0)
        forced = (j[None, :] < NINIT) | (j[None, :] > current[:, None] - NLOCAL)
        rank = tl.where(forced, float("inf"), rank)
        rank = tl.where(j[None, :] <= current[:, None], rank, -2.0)

        # Merge: NSEL times take the better of the running list and this tile; a tie goes to the lower index.
        merged = tl.full((BT, NP), -2.0, tl.float32)
        merged_index = tl.full((BT, NP), 2147483647, tl.int32)
        for r in range(0, NSEL):
            top = tl.maximum(tl.max(best, 1), tl.max(rank, 1))
            old = tl.min(tl.where(best == top[:, None], index, 2147483647), 1)
            new = tl.min(tl.where(rank == top[:, None], j[None, :], 2147483647), 1)
            pick = tl.where(top > -1.5, tl.minimum(old, new), 2147483647)
            merged = tl.where(slot[None, :] == r, top[:, None], merged)
            merged_index = tl.where(slot[None, :] == r, pick[:, None], merged_index)
            best = tl.where(index == pick[:, None], -2.0, best)
            rank = tl.where(j[None, :] == pick[:, None], -2.0, rank)
        best = merged
        index = merged_index

    out = IDX + (group * T + start + t0) * NSEL
    for r in range(0, NSEL):                             # ascending, -1 after the last
        least = tl.min(index, 1)
        index = tl.where(index == least[:, None], 2147483647, index)
        tl.store(out + rel * NSEL + r, tl.where(least == 2147483647, -1, least), mask=live)
