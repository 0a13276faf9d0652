# kernels/nsa/select_packed_fwd.py - attention over selected blocks, forward, from keys and values packed by blocks.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
#
# A block of keys is read by every token that selects it. Packed once, it is one piece of memory in the order in which a dot of
# few rows reads it: keys next to each other for the scores, their values row by row.
import triton
import triton.language as tl
from kernels.attention.core import LOG2E, Rows, Sizes, load_queries, softmax_step, token_rows
from kernels.attention.forward import store_output
from kernels.tiles import find_tile, load_rows, pick_block


# tessera: types("K V KP VP: *TYPE:16", "CU: *i32:16", "nseq tiles: i32", "s*: i32:16")
# tessera: instance pack_keys_quick_f32(TYPE="fp32", LSEL=32, LP=32, D=32, DP=32, DT=0, E=32, EP=32, BK=32)
# tessera: instance pack_keys_d64_f32(TYPE="fp32", LSEL=64, LP=64, D=64, DP=64, DT=0, E=64, EP=64, BK=32)
# tessera: instance pack_keys_paper_bf16(TYPE="bf16", LSEL=64, LP=64, D=192, DP=128, DT=64, E=128, EP=128, BK=32)
# tessera: grid(T // LSEL + B, H)
# tessera: cpu(BK=32)
# tessera: space(BK=[8, 16, 32, 64], where=BK <= LP)
@triton.autotune(configs=[triton.Config({"BK": 32}, num_warps=4)], key=["D", "E"])
@triton.jit(do_not_specialize=["nseq", "tiles"])
def pack_keys(K, V, KP, VP, CU, nseq, tiles, skt, skh, svt, svh,
              LSEL: tl.constexpr, LP: tl.constexpr, D: tl.constexpr, DP: tl.constexpr, DT: tl.constexpr,
              E: tl.constexpr, EP: tl.constexpr, BK: tl.constexpr):
    """One block of one KV head: KP [Hkv, tiles, DP + DT, LP], VP [Hkv, tiles, LP, EP]; what is not there is zero."""
    tile = tl.program_id(0)
    _, start, length, n0 = find_tile(CU, nseq, tile, LSEL)
    group = tl.program_id(1).to(tl.int64)
    if n0 >= length:
        return
    STEP: tl.constexpr = BK if BK < LP else LP
    key0 = (start + n0).to(tl.int64)
    packed = group * tiles + tile
    to = KP + packed * ((DP + DT) * LP)
    dims = tl.arange(0, DP)
    cols = tl.arange(0, EP)
    for n in range(0, LP, STEP):
        rows = n + tl.arange(0, STEP)
        here = rows < tl.minimum(length - n0, LSEL)
        key = tl.where(here, rows, 0)
        k = load_rows(K + key0 * skt + group * skh, key * skt, D, DP)
        tl.store(to + dims[:, None] * LP + rows[None, :], tl.trans(tl.where(here[:, None], k, 0.0)))
        if DT:
            tail = tl.arange(0, DT)
            k2 = load_rows(K + key0 * skt + group * skh + DP, key * skt, D - DP, DT)
            tl.store(to + DP * LP + tail[:, None] * LP + rows[None, :], tl.trans(tl.where(here[:, None], k2, 0.0)))
        v = load_rows(V + key0 * svt + group * svh, key * svt, E, EP)
        tl.store(VP + packed * (LP * EP) + rows[:, None] * EP + cols[None, :], tl.where(here[:, None], v, 0.0))


# tessera: types("Q KP VP O: *TYPE:16", "IDX CU: *i32:16", "LSE: *fp32:16", "scale: fp32", "T nseq tiles slset: i32", "slseh: 1", "s*: i32:16")
# tessera: instance select_packed_fwd_quick_f32(TYPE="fp32", G=3, GP=4, LSEL=32, LP=32, NSEL=6, D=32, DP=32, DT=0, E=32, EP=32, BN=32)
# tessera: instance select_packed_fwd_d64_f32(TYPE="fp32", G=4, GP=4, LSEL=64, LP=64, NSEL=16, D=64, DP=64, DT=0, E=64, EP=64, BN=64)
# tessera: instance select_packed_fwd_paper_bf16(TYPE="bf16", slset="i32:16", G=16, GP=16, LSEL=64, LP=64, NSEL=16, D=192, DP=128, DT=64, E=128, EP=128, BN=64)
# tessera: cpu(BN=64)
# tessera: cpu(BN=32)
# tessera: space(BN=[16, 32, 64], where=BN <= LP)
# tessera: grid(T + B, H)
# tessera: swap_ab
@triton.autotune(
    configs=[
        triton.Config({"BN": 64}, num_warps=4, num_stages=2),
        triton.Config({"BN": 32}, num_warps=2, num_stages=3),
    ],
    key=["G", "D", "E"],
)
@triton.jit(do_not_specialize=["T", "nseq", "tiles"])
def select_packed_fwd(Q, KP, VP, IDX, O, LSE, CU, scale, T, nseq, tiles, sqt, sqh, sot, soh, slset, slseh,
                      G: tl.constexpr, GP: tl.constexpr, LSEL: tl.constexpr, LP: tl.constexpr, NSEL: tl.constexpr,
                      D: tl.constexpr, DP: tl.constexpr, DT: tl.constexpr, E: tl.constexpr, EP: tl.constexpr, BN: tl.constexpr,
                      SHARE: tl.constexpr = 1, HIDDEN: tl.constexpr = 0):
    """One token, all heads of one list: select_fwd from the blocks that pack_keys wrote. SHARE lists read the blocks of one KV head; the
    last HIDDEN keys up to the query do not count."""
    sequence, start, length, t = find_tile(CU, nseq, tl.program_id(0), 1)
    group = tl.program_id(1).to(tl.int64)
    if t >= length:
        return
    tile = token_rows(start, length, t, group, G, GP)
    row = IDX + (group * T + start + t) * NSEL
    q = load_queries(Rows(Q, sqt, sqh), tile, G, 0, D, DP)
    q2 = load_queries(Rows(Q, sqt, sqh), tile, G, DP, D - DP, DT) if DT else None
    slope = scale * LOG2E                        # scores in units of log 2

    peak = tl.full((GP,), float("-inf"), tl.float32)
    total = tl.zeros((GP,), tl.float32)
    acc = tl.zeros((GP, EP), tl.float32)
    STEP: tl.constexpr = BN if BN < LP else LP   # a step stays inside of its block
    cols = tl.arange(0, STEP)
    dims = tl.arange(0, DP)
    e = tl.arange(0, EP)
    head = group // SHARE if SHARE > 1 else group
    first = head * tiles + start // LSEL + sequence          # the first block of the sequence
    for r in range(0, NSEL):
        block = pick_block(row, r, t // LSEL, NSEL)          # -1: an empty range of keys
        low = tl.maximum(block, 0) * LSEL
        bound = tl.minimum((block + 1) * LSEL, (t - HIDDEN if HIDDEN else t) + 1) - low
        packed = first + tl.maximum(block, 0)
        for n in range(0, bound, STEP):
            k = tl.load(KP + packed * ((DP + DT) * LP) + n + dims[:, None] * LP + cols[None, :])
            s = tl.dot(q, k)
            if DT:
                tail = tl.arange(0, DT)
                k2 = tl.load(KP + packed * ((DP + DT) * LP) + DP * LP + n + tail[:, None] * LP + cols[None, :])
                s = tl.dot(q2, k2, s)
            s = s * slope
            keep = (n + cols < bound)[None, :]
            s = tl.where(keep, s, float("-inf"))
            v = tl.load(VP + packed * (LP * EP) + n * EP + cols[:, None] * EP + e[None, :])
            peak, total, acc = softmax_step(s, v, peak, total, acc)
    store_output(Rows(O, sot, soh), Rows(LSE, slset, slseh), peak, total, acc, total, tile, Sizes(G, D, DP, DT, E, EP, GP, BN))
