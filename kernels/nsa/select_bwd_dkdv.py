# kernels/nsa/select_bwd_dkdv.py - attention over selected blocks, dk and dv: each block walks the tokens that selected it.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl
from kernels.tiles import find_tile, load_rows


# tessera: types("Q K V DO DK DV: *TYPE:16", "LSE DELTA: *fp32:16", "PTR INV CU: *i32:16", "scale: fp32", "T nseq nblk slset sdeltat: i32", "slseh sdeltah: 1", "s*: i32:16")
# tessera: instance select_bwd_dkdv_quick_f32(TYPE="fp32", G=3, LSEL=32, NSEL=6, D=32, DP=32, DT=0, E=32, EP=32, BM=64, BN=32)
# tessera: instance select_bwd_dkdv_d64_f32(TYPE="fp32", G=4, LSEL=64, NSEL=16, D=64, DP=64, DT=0, E=64, EP=64, BM=64, BN=64)
# tessera: instance select_bwd_dkdv_paper_bf16(TYPE="bf16", slset="i32:16", sdeltat="i32:16", G=16, LSEL=64, NSEL=16, D=192, DP=128, DT=64, E=128, EP=128, BM=64, BN=64)
# tessera: cpu(BM=64, BN=32)
# tessera: cpu(BM=32, BN=64)
# tessera: space(BM=[16, 32, 64, 128], BN=[16, 32, 64], where=G <= BM and BN <= LSEL)
# tessera: grid(H, nblk * cdiv(LSEL, BN))
@triton.autotune(
    configs=[
        triton.Config({"BM": 64, "BN": 64}, num_warps=4, num_stages=1),
        triton.Config({"BM": 64, "BN": 32}, num_warps=4, num_stages=2),
        triton.Config({"BM": 32, "BN": 64}, num_warps=4, num_stages=2),
    ],
    key=["G", "D", "E"],
)
@triton.jit(do_not_specialize=["T", "nblk", "nseq"])
def select_bwd_dkdv(Q, K, V, DO, LSE, DELTA, PTR, INV, DK, DV, CU, scale, T, nseq, nblk,
                    sqt, sqh, skt, skh, svt, svh, sdot, sdoh, sdkt, sdkh, sdvt, sdvh, slset, slseh, sdeltat, sdeltah,
                    G: tl.constexpr, LSEL: tl.constexpr, NSEL: tl.constexpr, D: tl.constexpr, DP: tl.constexpr, DT: tl.constexpr,
                    E: tl.constexpr, EP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """dk and dv of up to BN keys of one block; rows are (entry of the inverse list, head of the group)."""
    BT: tl.constexpr = BM // G                   # whole tokens; the last BM % G rows are idle
    tl.static_assert(BT > 0, "BM must hold all heads of a token")
    STEPS: tl.constexpr = (LSEL + BN - 1) // BN
    block = tl.program_id(1) // STEPS            # of all sequences
    _, start, length, first = find_tile(CU, nseq, block, LSEL)
    n = first + tl.program_id(1) % STEPS * BN
    group = tl.program_id(0).to(tl.int64)
    if n >= length:
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
    list0 = PTR + group * (nblk + 1) + block
    entry0 = tl.load(list0)
    entries = tl.load(list0 + 1) - entry0
    tokens = INV + group * T * NSEL + entry0
    seq = start.to(tl.int64)

    dk = tl.zeros((BN, DP), tl.float32)
    if DT:
        dk2 = tl.zeros((BN, DT), tl.float32)
    dv = tl.zeros((BN, EP), tl.float32)
    for r in range(0, entries, BT):
        rows = r * G + tl.arange(0, BM)
        live = rows // G < tl.minimum(r + BT, entries)
        t = tl.load(tokens + tl.minimum(rows // G, entries - 1))
        head = rows % G
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
        keep = (pos[None, :] <= t[:, None]) & (pos < bound)[None, :] & live[:, None]
        p = tl.where(keep, tl.exp2(s - lse[:, None]), 0.0)
        dv = tl.dot(tl.trans(p.to(do.dtype)), do, dv)
        ds = p * (tl.dot(do, vt) - delta[:, None])
        dk = tl.dot(tl.trans(ds.to(q.dtype)), q, dk)
        if DT:
            dk2 = tl.dot(tl.trans(ds.to(q.dtype)), q2, dk2)

    d = tl.arange(0, DP)
    e = tl.arange(0, EP)
    held = pos < bound
    tl.store(DK + key0 * sdkt + group * sdkh + (cols * sdkt)[:, None] + d[None, :], (dk * scale).to(DK.dtype.element_ty),
             mask=held[:, None] & (d[None, :] < D))
    if DT:
        tail = DP + tl.arange(0, DT)
        tl.store(DK + key0 * sdkt + group * sdkh + (cols * sdkt)[:, None] + tail[None, :], (dk2 * scale).to(DK.dtype.element_ty),
                 mask=held[:, None] & (tail[None, :] < D))
    tl.store(DV + key0 * sdvt + group * sdvh + (cols * sdvt)[:, None] + e[None, :], dv.to(DV.dtype.element_ty),
             mask=held[:, None] & (e[None, :] < E))
