# kernels/nsa/select_list_bwd_dq.py - attention over selected blocks, dq, tiles of tokens that walk the list of their blocks.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl
from kernels.tiles import add_rows, find_tile, load_rows


# tessera: types("Q K V DO DQ: *TYPE:16", "LISTS: *i64:16", "COUNTS CU: *i32:16", "LSE DELTA: *fp32:16", "scale: fp32", "nseq slset sdeltat: i32", "slseh sdeltah: 1", "s*: i32:16")
# tessera: instance select_list_bwd_dq_quick_f32(TYPE="fp32", G=3, LSEL=32, NSEL=6, D=32, DP=32, DT=0, E=32, EP=32, BM=64, BN=32)
# tessera: instance select_list_bwd_dq_d64_f32(TYPE="fp32", G=4, LSEL=64, NSEL=16, D=64, DP=64, DT=0, E=64, EP=64, BM=64, BN=64)
# tessera: instance select_list_bwd_dq_paper_bf16(TYPE="bf16", slset="i32:16", sdeltat="i32:16", G=16, LSEL=64, NSEL=16, D=192, DP=128, DT=64, E=128, EP=128, BM=64, BN=64)
# tessera: cpu(BM=64, BN=32)
# tessera: space(BN=[16, 32, 64, 128], where=BM * BN <= 8192)
@triton.autotune(
    configs=[
        triton.Config({"BN": 64}, num_warps=4, num_stages=1),
        triton.Config({"BN": 64}, num_warps=8, num_stages=1),
        triton.Config({"BN": 32}, num_warps=4, num_stages=2),
    ],
    key=["G", "D", "E"],
)
@triton.jit(do_not_specialize=["nseq"])
def select_list_bwd_dq(Q, K, V, LISTS, COUNTS, DO, LSE, DELTA, DQ, CU, scale, nseq, sqt, sqh, skt, skh, svt, svh,
                       sdot, sdoh, sdqt, sdqh, slset, slseh, sdeltat, sdeltah,
                       G: tl.constexpr, LSEL: tl.constexpr, NSEL: tl.constexpr,
                       D: tl.constexpr, DP: tl.constexpr, DT: tl.constexpr, E: tl.constexpr, EP: tl.constexpr,
                       BM: tl.constexpr, BN: tl.constexpr,
                       ACCUMULATE: tl.constexpr = 0):
    """dq of one tile of (token, head) rows; walks the same keys as the forward."""
    BT: tl.constexpr = BM // G                   # whole tokens; the last BM % G rows of a tile are idle
    tl.static_assert(BT > 0, "BM must hold all heads of a token")
    tl.static_assert(BT <= 32, "a token has a bit in a word of 32: BM must be smaller")
    tile = tl.num_programs(0) - 1 - tl.program_id(0)        # late tokens, which see most keys, first
    _, start, length, t0 = find_tile(CU, nseq, tile, BT)
    group = tl.program_id(1).to(tl.int64)
    if t0 >= length:
        return
    rows = tl.arange(0, BM)
    head = rows % G
    live = rows // G < tl.minimum(BT, length - t0)
    rel = tl.minimum(rows // G, tl.minimum(BT, length - t0) - 1)         # idle rows repeat the last token and are not stored
    t = t0 + rel
    token0 = (start + t0).to(tl.int64)
    q = load_rows(Q + token0 * sqt + group * G * sqh, rel * sqt + head * sqh, D, DP)
    if DT:
        q2 = load_rows(Q + token0 * sqt + group * G * sqh + DP, rel * sqt + head * sqh, D - DP, DT)
    do = load_rows(DO + token0 * sdot + group * G * sdoh, rel * sdot + head * sdoh, E, EP)
    lse = tl.load(LSE + token0 * slset + group * G * slseh + rel * slset + head * slseh) * 1.4426950408889634
    delta = tl.load(DELTA + token0 * sdeltat + group * G * sdeltah + rel * sdeltat + head * sdeltah)
    slope = scale * 1.4426950408889634

    dq = tl.zeros((BM, DP), tl.float32)
    if DT:
        dq2 = tl.zeros((BM, DT), tl.float32)
    cols = tl.arange(0, BN)
    entry = group * tl.num_programs(0) + tile
    entries = LISTS + entry * (BT * NSEL)
    STEPS: tl.constexpr = (LSEL + BN - 1) // BN  # of a block
    steps = tl.load(COUNTS + entry) * STEPS
    pair = tl.load(entries, mask=steps > 0, other=0)         # bits of tokens, then the block in the low half
    for i in range(0, steps):
        ahead = tl.load(entries + (i + 1) // STEPS, mask=i + 1 < steps, other=0)
        block = (pair & 0xffffffff).to(tl.int32)
        chosen = ((pair >> 32).to(tl.int32) >> rel) & 1
        n = block * LSEL + i % STEPS * BN
        pos = n + cols
        key = tl.minimum(pos, length - 1) - n
        key0 = (start + n).to(tl.int64)
        k = load_rows(K + key0 * skt + group * skh, key * skt, D, DP)
        if DT:
            k2 = load_rows(K + key0 * skt + group * skh + DP, key * skt, D - DP, DT)
        v = load_rows(V + key0 * svt + group * svh, key * svt, E, EP)
        keep = pos[None, :] <= tl.where(chosen > 0, t, -1)[:, None]
        if LSEL % BN:
            keep = keep & (pos < (block + 1) * LSEL)[None, :]
        if DT:                               # spills less in this order
            dp = tl.dot(do, tl.trans(v))
            s = tl.dot(q, tl.trans(k), tl.dot(q2, tl.trans(k2))) * slope
            ds = tl.where(keep, tl.exp2(s - lse[:, None]) * (dp - delta[:, None]), 0.0)
        else:
            s = tl.dot(q, tl.trans(k)) * slope
            p = tl.where(keep, tl.exp2(s - lse[:, None]), 0.0)
            ds = p * (tl.dot(do, tl.trans(v)) - delta[:, None])
        dq = tl.dot(ds.to(k.dtype), k, dq)
        if DT:
            dq2 = tl.dot(ds.to(k.dtype), k2, dq2)
        pair = ahead

    out = DQ + token0 * sdqt + group * G * sdqh
    out_offs = rel * sdqt + head * sdqh
    add_rows(out, out_offs, dq * scale, D, DP, live, ACCUMULATE)
    if DT:
        add_rows(out + DP, out_offs, dq2 * scale, D - DP, DT, live, ACCUMULATE)
