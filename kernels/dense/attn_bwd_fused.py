# kernels/dense/attn_bwd_fused.py - causal flash attention, backward in one pass, for few threads.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl
from kernels.tiles import load_rows, store_rows


# tessera: types("Q K V DO: *TYPE:16", "LSE DELTA DQ DK DV: *fp32:16", "CU: *i32:16", "scale: fp32", "slset sdeltat: i32", "slseh sdeltah: 1", "s*: i32:16")
# tessera: instance dense_bwd_quick_f32(TYPE="fp32", G=3, D=32, DP=32, E=32, EP=32, BM=64, BN=32)
# tessera: instance dense_bwd_d64_f32(TYPE="fp32", G=4, D=64, DP=64, E=64, EP=64, BM=64, BN=32)
# tessera: cpu(BM=64, BN=128)
# tessera: cpu(BM=128, BN=128)
# tessera: space(BM=[32, 64, 128, 256], BN=[32, 64, 128, 256], where=G <= BM and BM * BN <= 16384)
# tessera: grid(H, B)
@triton.jit
def dense_bwd(Q, K, V, DO, LSE, DELTA, DQ, DK, DV, CU, scale, sqt, sqh, skt, skh, svt, svh, sdot, sdoh, sdqt, sdqh,
              sdkt, sdkh, sdvt, sdvh, slset, slseh, sdeltat, sdeltah,
              G: tl.constexpr, D: tl.constexpr, DP: tl.constexpr, E: tl.constexpr, EP: tl.constexpr,
              BM: tl.constexpr, BN: tl.constexpr):
    """dq, dk and dv of one KV head of one sequence. Every score is computed once, not twice: dq is added up in memory, tile of
    keys by tile of keys, by the one program that may write it."""
    BT: tl.constexpr = BM // G                   # whole tokens; the last BM % G rows of a tile are idle
    tl.static_assert(BT > 0, "BM must hold all heads of a token")
    group = tl.program_id(0).to(tl.int64)
    start = tl.load(CU + tl.program_id(1))
    length = tl.load(CU + tl.program_id(1) + 1) - start
    slope = scale * 1.4426950408889634           # scores in units of log 2
    for n in range(0, length, BN):
        pos = n + tl.arange(0, BN)
        key = tl.minimum(pos, length - 1) - n
        key0 = (start + n).to(tl.int64)
        k = load_rows(K + key0 * skt + group * skh, key * skt, D, DP)
        v = load_rows(V + key0 * svt + group * svh, key * svt, E, EP)
        dk = tl.zeros((BN, DP), tl.float32)
        dv = tl.zeros((BN, EP), tl.float32)
        for t0 in range(n, length, BT):
            rows = tl.arange(0, BM)
            head = rows % G
            live = rows // G < tl.minimum(BT, length - t0)
            rel = tl.minimum(rows // G, length - 1 - t0)     # rows past the end repeat the last token and are not stored
            token0 = (start + t0).to(tl.int64)
            q = load_rows(Q + token0 * sqt + group * G * sqh, rel * sqt + head * sqh, D, DP)
            do = load_rows(DO + token0 * sdot + group * G * sdoh, rel * sdot + head * sdoh, E, EP)
            lse = tl.load(LSE + token0 * slset + group * G * slseh + rel * slset + head * slseh) * 1.4426950408889634
            delta = tl.load(DELTA + token0 * sdeltat + group * G * sdeltah + rel * sdeltat + head * sdeltah)
            s = tl.dot(q, tl.trans(k)) * slope
            keep = (pos[None, :] <= (t0 + rel)[:, None]) & live[:, None]
            p = tl.where(keep, tl.exp2(s - lse[:, None]), 0.0)
            dv = tl.dot(tl.trans(p.to(do.dtype)), do, dv)
            ds = (p * (tl.dot(do, tl.trans(v)) - delta[:, None]) * scale).to(k.dtype)
            dk = tl.dot(tl.trans(ds), q, dk)
            out, offs = DQ + token0 * sdqt + group * G * sdqh, rel * sdqt + head * sdqh
            d = tl.arange(0, DP)
            before = tl.load(out + offs[:, None] + d[None, :], mask=live[:, None] & (d[None, :] < D) & (n > 0), other=0.0)
            store_rows(out, offs, tl.dot(ds, k, before), D, DP, live)
        held = pos < length
        store_rows(DK + key0 * sdkt + group * sdkh, (pos - n) * sdkt, dk, D, DP, held)
        store_rows(DV + key0 * sdvt + group * sdvh, (pos - n) * sdvt, dv, E, EP, held)
