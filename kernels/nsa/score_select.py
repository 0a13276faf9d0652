# kernels/nsa/score_select.py - block scores from the compressed attention (Eq. 9, group sum) and the best n blocks.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl
from kernels.attention.core import LOG2E
from kernels.selection.top_blocks import NOTHING, best_places, block_keys, keep_best, store_places
from kernels.tiles import find_tile, load_live_rows, load_rows


# tessera: types("Q K: *TYPE:16", "LSE SCORES: *fp32:16", "IDX CU CU_CMP: *i32:16", "scale: fp32", "T nseq nscore slset: i32", "slseh: 1", "s*: i32:16")
# tessera: instance score_select_quick_f32(TYPE="fp32", G=3, GB=1, L=16, STRIDE=8, LSEL=32, NSEL=6, NP=8, NINIT=1, NLOCAL=2, D=32, DP=32, DT=0, STORE=0, BM=64, BJ=16)
# tessera: instance score_select_d64_f32(TYPE="fp32", G=4, GB=4, L=32, STRIDE=16, LSEL=64, NSEL=16, NP=16, NINIT=1, NLOCAL=2, D=64, DP=64, DT=0, STORE=0, BM=64, BJ=16)
# tessera: instance score_select_paper_bf16(TYPE="bf16", slset="i32:16", G=16, GB=16, L=32, STRIDE=16, LSEL=64, NSEL=16, NP=16, NINIT=1, NLOCAL=2, D=192, DP=128, DT=64, STORE=0, BM=64, BJ=16)
# tessera: cpu(BM=64, BJ=16)
# tessera: cpu(BM=64, BJ=16)
# tessera: space(BM=[32, 64, 128], BJ=[8, 16, 32], where=GB <= BM)
# tessera: grid(T // (BM // GB) + B, H)
@triton.autotune(configs=[triton.Config({"BM": 64, "BJ": 16}, num_warps=4, num_stages=2), triton.Config({"BM": 128, "BJ": 16}, num_warps=8, num_stages=2)],
                 key=["G", "D", "NSEL"])
@triton.jit(do_not_specialize=["T", "nscore", "nseq"])
def score_select(Q, K, LSE, IDX, SCORES, CU, CU_CMP, scale, T, nseq, nscore, sqt, sqh, skt, skh, slset, slseh,
                 G: tl.constexpr, GB: tl.constexpr, L: tl.constexpr, STRIDE: tl.constexpr, LSEL: tl.constexpr,
                 NSEL: tl.constexpr, NP: tl.constexpr, NINIT: tl.constexpr, NLOCAL: tl.constexpr, D: tl.constexpr,
                 DP: tl.constexpr, DT: tl.constexpr, STORE: tl.constexpr, BM: tl.constexpr, BJ: tl.constexpr):
    """Selects blocks for BM rows (token, GB of the G heads) of whole tokens of one KV head: IDX int32 [Hkv, T, NSEL]. Walks tiles of BJ
    selection blocks and keeps the best NSEL.

    The score of block j is the sum over compressed tokens i of overlap(i,j)/STRIDE * sum over heads of p[i] (overlap(i,j)/L if STRIDE does
    not divide L and LSEL). A tile has the compressed tokens that begin in its blocks, the r-th of each block in column r * BJ + (block of
    the tile). Those that reach into later blocks are added there, at the end of a tile in the next one (`carry`). A probability is
    recomputed from q, k and lse and never stored. Order: score descending, then index ascending; forced blocks first; NaN after every
    number. NP is the next power of two of NSEL >= NINIT + NLOCAL; GB is a power of two that divides G; L <= BJ * LSEL. STORE=1 also writes
    SCORES fp32 [Hkv, T, nscore], which must be zero before; STORE=0: pass LSE as SCORES and nscore 0.
    """
    BT: tl.constexpr = BM // GB
    W: tl.constexpr = NP if NP > BJ else BJ      # blocks that are kept, sorted; more than NSEL where a tile has more
    EVEN: tl.constexpr = LSEL % STRIDE == 0
    RANKS: tl.constexpr = (LSEL + STRIDE - 1) // STRIDE      # most compressed tokens that begin in a block
    R: tl.constexpr = triton.next_power_of_2(RANKS)
    REACH: tl.constexpr = (LSEL - (STRIDE if EVEN else 1) + L - 1) // LSEL     # later blocks that a token overlaps
    UNIT: tl.constexpr = STRIDE if L % STRIDE + LSEL % STRIDE == 0 else L
    tl.static_assert(G % GB == 0 and BT > 0, "GB must divide G, and BM must hold GB heads of a token")
    tl.static_assert(REACH <= BJ, "a compressed token must end in its tile of BJ blocks or in the next one")
    tile = tl.num_programs(0) - 1 - tl.program_id(0)        # late tokens, which see most keys, first
    b, start, length, t0 = find_tile(CU, nseq, tile, BT)
    group = tl.program_id(1).to(tl.int64)
    if t0 >= length:
        return
    cmp_start = tl.load(CU_CMP + b).to(tl.int64)
    count = tl.load(CU_CMP + b + 1) - tl.load(CU_CMP + b)
    token0 = (start + t0).to(tl.int64)
    last = tl.minimum(t0 + BT, length) - 1
    rel = tl.minimum(tl.arange(0, BT), last - t0)
    live = t0 + tl.arange(0, BT) < length
    current = (t0 + rel) // LSEL
    seen = tl.maximum(t0 + rel + 1 - L + STRIDE, 0) // STRIDE
    rows = tl.arange(0, BM)
    row_rel = tl.minimum(rows // GB, last - t0)
    qrows = row_rel * sqt + (rows % GB) * sqh
    lrows = row_rel * slset + (rows % GB) * slseh
    qbase = Q + token0 * sqt + group * G * sqh
    lbase = LSE + token0 * slset + group * G * slseh
    kbase = K + cmp_start * skt + group * skh
    if G == GB:
        q = load_rows(qbase, qrows, D, DP)
        if DT:
            q2 = load_rows(qbase + DP, qrows, D - DP, DT)
        lse = tl.load(lbase + lrows) * LOG2E
    slope = scale * LOG2E

    cols = tl.arange(0, R * BJ)
    lane = tl.arange(0, BJ)
    carry = tl.zeros((BT, BJ), tl.float32)
    best = tl.full((BT, W), NOTHING, tl.int64)           # code of the score (a float's bits), 2^31 - 1 - index: descending
    for j0 in range(0, last // LSEL + 1, BJ):
        if EVEN:
            i = (j0 + cols % BJ) * RANKS + cols // BJ
            at = cols // BJ * STRIDE
        else:
            i = ((j0 + cols % BJ) * LSEL + STRIDE - 1) // STRIDE + cols // BJ
            at = i * STRIDE - (j0 + cols % BJ) * LSEL    # where it begins in its block; behind it: it is of the next one
        kt = tl.trans(load_live_rows(kbase, i * skt, i < count, D, DP))
        if DT:
            kt2 = tl.trans(load_live_rows(kbase + DP, i * skt, i < count, D - DP, DT))
        mass = tl.zeros((BT, R * BJ), tl.float32)
        for h in range(0, G, GB):
            if G != GB:
                q = load_rows(qbase + h * sqh, qrows, D, DP)
                if DT:
                    q2 = load_rows(qbase + h * sqh + DP, qrows, D - DP, DT)
                lse = tl.load(lbase + h * slseh + lrows) * LOG2E
            s = tl.dot(q, kt)
            if DT:
                s = tl.dot(q2, kt2, s)
            p = tl.exp2(s * slope - lse[:, None])
            mass += tl.sum(tl.reshape(p, (BT, GB, R * BJ)), 1)
        mass = tl.where((i[None, :] < seen[:, None]) & (at < LSEL)[None, :], mass, 0.0)

        score = carry
        carry = tl.zeros((BT, BJ), tl.float32)
        for c in tl.static_range(0, REACH + 1):          # what the tokens of a block give to the c-th block after it
            weight = (tl.minimum(at + L, c * LSEL + LSEL) - tl.maximum(at, c * LSEL))[None, :]
            part = tl.where(weight > 0, mass * (weight.to(tl.float32) / UNIT), 0.0)
            part = tl.sum(tl.reshape(part, (BT, R, BJ)), 1)
            if c == 0:
                score += part
            else:
                there = (lane[:, None] + c) % BJ == lane[None, :]
                part = tl.sum(tl.where(there[None, :, :], part[:, :, None], 0.0), 1)
                score += tl.where(lane[None, :] >= c, part, 0.0)
                carry += tl.where(lane[None, :] < c, part, 0.0)
        j = j0 + lane
        if STORE:
            cells = SCORES + (group * T + start + t0) * nscore
            tl.store(cells + (rel * nscore)[:, None] + j[None, :], score,
                     mask=live[:, None] & (j[None, :] <= current[:, None]) & (j[None, :] < nscore))
        best = keep_best(best, block_keys(score, tl.broadcast_to(j[None, :], (BT, BJ)), j, current, NINIT, NLOCAL), BJ, W, NOTHING)

    store_places(IDX + (group * T + start + t0) * NSEL + rel * NSEL, best_places(best, NSEL, W), live, 1, NSEL, W)
