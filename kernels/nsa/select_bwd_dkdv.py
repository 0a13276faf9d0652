# kernels/nsa/select_bwd_dkdv.py - attention over selected blocks, dk and dv: chunks of the tokens that selected a block.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl
from kernels.tiles import find_tile, load_rows, store_rows


# tessera: types("Q K V DO DK DV: *TYPE:16", "LSE DELTA PART: *fp32:16", "PTR INV CU: *i32:16", "scale: fp32", "T nseq nblk slset sdeltat: i32", "slseh sdeltah: 1", "s*: i32:16")
# tessera: instance select_bwd_dkdv_quick_f32(TYPE="fp32", G=3, LSEL=32, NSEL=6, CHUNK=64, D=32, DP=32, DT=0, E=32, EP=32, BM=64, BN=32)
# tessera: instance select_bwd_dkdv_d64_f32(TYPE="fp32", G=4, LSEL=64, NSEL=16, CHUNK=512, D=64, DP=64, DT=0, E=64, EP=64, BM=64, BN=64)
# tessera: instance select_bwd_dkdv_paper_bf16(TYPE="bf16", slset="i32:16", sdeltat="i32:16", G=16, LSEL=64, NSEL=16, CHUNK=512, D=192, DP=128, DT=64, E=128, EP=128, BM=64, BN=64)
# tessera: cpu(BM=64, BN=32)
# tessera: cpu(BM=32, BN=64)
# tessera: space(BM=[16, 32, 64, 128], BN=[16, 32, 64], where=G <= BM and BN <= LSEL)
# tessera: grid(H, (T * NSEL // CHUNK + nblk) * cdiv(LSEL, BN))
@triton.autotune(
    configs=[
        triton.Config({"BM": 32, "BN": 64}, num_warps=4, num_stages=2),
        triton.Config({"BM": 64, "BN": 64}, num_warps=8, num_stages=1),
        triton.Config({"BM": 64, "BN": 64}, num_warps=4, num_stages=1),
        triton.Config({"BM": 64, "BN": 32}, num_warps=4, num_stages=2),
    ],
    key=["G", "D", "E"],
)
@triton.jit(do_not_specialize=["T", "nblk", "nseq"])
def select_bwd_dkdv(Q, K, V, DO, LSE, DELTA, PTR, INV, PART, DK, DV, CU, scale, T, nseq, nblk,
                    sqt, sqh, skt, skh, svt, svh, sdot, sdoh, sdkt, sdkh, sdvt, sdvh, slset, slseh, sdeltat, sdeltah,
                    G: tl.constexpr, LSEL: tl.constexpr, NSEL: tl.constexpr, CHUNK: tl.constexpr,
                    D: tl.constexpr, DP: tl.constexpr, DT: tl.constexpr, E: tl.constexpr, EP: tl.constexpr,
                    BM: tl.constexpr, BN: tl.constexpr):
    """Up to CHUNK tokens of a block's inverse list: dk and dv of up to BN of its keys; rows are (token, head of the group).

    Chunks are numbered as find_tile numbers the tiles of sequences, by PTR: the lists are the sequences. A list of one chunk writes
    dk and dv, also an empty one; the chunks of a longer one write sums for select_bwd_sum, in fp32 and not yet scaled.
    """
    BT: tl.constexpr = BM // G                   # whole tokens; the last BM % G rows are idle
    tl.static_assert(BT > 0, "BM must hold all heads of a token")
    STEPS: tl.constexpr = (LSEL + BN - 1) // BN
    group = tl.program_id(0).to(tl.int64)
    chunk = tl.program_id(1) // STEPS            # of all lists
    block, entry0, listed, r0 = find_tile(PTR + group * (nblk + 1), nblk, chunk, CHUNK)
    _, start, length, first = find_tile(CU, nseq, block, LSEL)
    n = first + tl.program_id(1) % STEPS * BN
    if (n >= length) | ((r0 > 0) & (r0 >= listed)):         # an empty list has a chunk, which writes zeros
        return
    bound = tl.minimum(first + LSEL, length)
    cols = tl.arange(0, BN)
    pos = n + cols
    key = tl.minimum(pos, length - 1) - n
    key0 = (start + n).to(tl.int64)
    kt = tl.trans(load_rows(K + key0 * skt + group * skh, key * skt, D, DP))
    if DT:
        kt2 = tl.trans(load_rows(K + key0 * skt + group * skh + DP, key * skt, D - DP, DT))
    vt = tl.trans(load_rows(V + key0 * svt + group * svh, key * svt, E, EP))
    slope = scale * 1.4426950408889634
    entries = tl.minimum(listed - r0, CHUNK)
    tokens = INV + group * T * NSEL + entry0 + r0
    seq = start.to(tl.int64)

    rows = tl.arange(0, BM)
    head = rows % G
    dk = tl.zeros((BN, DP), tl.float32)
    if DT:
        dk2 = tl.zeros((BN, DT), tl.float32)
    dv = tl.zeros((BN, EP), tl.float32)
    for r in range(0, entries, BT):
        t = tl.load(tokens + tl.minimum(r + rows // G, entries - 1))
        newest = tl.where(rows // G < tl.minimum(BT, entries - r), tl.minimum(t, bound - 1), -1)    # idle rows see nothing
        far = t.to(tl.int64)                     # listed tokens may lie far apart
        q = load_rows(Q + seq * sqt + group * G * sqh, far * sqt + head * sqh, D, DP)
        if DT:
            q2 = load_rows(Q + seq * sqt + group * G * sqh + DP, far * sqt + head * sqh, D - DP, DT)
        do = load_rows(DO + seq * sdot + group * G * sdoh, far * sdot + head * sdoh, E, EP)
        lse = tl.load(LSE + (seq + far) * slset + group * G * slseh + head * slseh)
        lse = lse * 1.4426950408889634
        delta = tl.load(DELTA + (seq + far) * sdeltat + group * G * sdeltah + head * sdeltah)
        s = tl.dot(q, kt)
        if DT:
            s = tl.dot(q2, kt2, s)
        s = s * slope
        p = tl.where(pos[None, :] <= newest[:, None], tl.exp2(s - lse[:, None]), 0.0)
        dv = tl.dot(tl.trans(p.to(do.dtype)), do, dv)
        ds = p * (tl.dot(do, vt) - delta[:, None])
        dk = tl.dot(tl.trans(ds.to(q.dtype)), q, dk)
        if DT:
            dk2 = tl.dot(tl.trans(ds.to(q.dtype)), q2, dk2)

    held = pos < bound
    if listed > CHUNK:
        part = PART + ((group * (tl.num_programs(1) // STEPS) + chunk) * LSEL + (n - first)) * (D + E)
        store_rows(part, cols * (D + E), dk, D, DP, held)
        if DT:
            store_rows(part + DP, cols * (D + E), dk2, D - DP, DT, held)
        store_rows(part + D, cols * (D + E), dv, E, EP, held)
    else:
        store_rows(DK + key0 * sdkt + group * sdkh, cols * sdkt, dk * scale, D, DP, held)
        if DT:
            store_rows(DK + key0 * sdkt + group * sdkh + DP, cols * sdkt, dk2 * scale, D - DP, DT, held)
        store_rows(DV + key0 * sdvt + group * sdvh, cols * sdvt, dv, E, EP, held)
