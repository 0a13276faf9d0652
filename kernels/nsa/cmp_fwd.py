# kernels/nsa/cmp_fwd.py - attention over compressed tokens, forward.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl
from kernels.tiles import find_tile, load_rows


# tessera: types("Q K V O: *TYPE:16", "LSE: *fp32:16", "CU CU_CMP: *i32:16", "scale: fp32", "nseq slset: i32", "slseh: 1", "s*: i32:16")
# tessera: instance cmp_fwd_quick_f32(TYPE="fp32", G=3, L=16, STRIDE=8, D=32, DP=32, DT=0, E=32, EP=32, BM=64, BN=32)
# tessera: instance cmp_fwd_d64_f32(TYPE="fp32", G=4, L=32, STRIDE=16, D=64, DP=64, DT=0, E=64, EP=64, BM=64, BN=64)
# tessera: instance cmp_fwd_paper_bf16(TYPE="bf16", slset="i32:16", G=16, L=32, STRIDE=16, D=192, DP=128, DT=64, E=128, EP=128, BM=64, BN=64)
# tessera: cpu(BM=64, BN=32)
# tessera: cpu(BM=32, BN=64)
# tessera: space(BM=[16, 32, 64, 128], BN=[16, 32, 64, 128], where=G <= BM and BM * BN <= 8192)
# tessera: grid(T // (BM // G) + B, H)
@triton.autotune(
    configs=[
        triton.Config({"BM": 64, "BN": 64}, num_warps=4, num_stages=2),
        triton.Config({"BM": 128, "BN": 64}, num_warps=8, num_stages=2),
        triton.Config({"BM": 64, "BN": 32}, num_warps=4, num_stages=3),
    ],
    key=["G", "D", "E"],
)
@triton.jit(do_not_specialize=["nseq"])
def cmp_fwd(Q, K, V, O, LSE, CU, CU_CMP, scale, nseq, sqt, sqh, skt, skh, svt, svh, sot, soh, slset, slseh,
            G: tl.constexpr, L: tl.constexpr, STRIDE: tl.constexpr, D: tl.constexpr, DP: tl.constexpr, DT: tl.constexpr,
            E: tl.constexpr, EP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """One tile of (token, head) rows of one KV head: query t attends compressed token i iff i*STRIDE + L <= t+1."""
    BT: tl.constexpr = BM // G                   # whole tokens; the last BM % G rows of a tile are idle
    tl.static_assert(BT > 0, "BM must hold all heads of a token")
    tile = tl.num_programs(0) - 1 - tl.program_id(0)        # late tokens, which see most keys, first
    b, start, length, t0 = find_tile(CU, nseq, tile, BT)
    group = tl.program_id(1).to(tl.int64)
    if t0 >= length:
        return
    rows = tl.arange(0, BM)
    head = rows % G
    live = rows // G < tl.minimum(BT, length - t0)
    t = tl.minimum(t0 + rows // G, length - 1)     # rows past the end repeat the last token and are not stored
    rel = t - t0
    last = tl.minimum(t0 + BT, length) - 1
    token0 = (start + t0).to(tl.int64)
    cmp_start = tl.load(CU_CMP + b)
    count = tl.load(CU_CMP + b + 1) - cmp_start
    seen = tl.maximum(t + 1 - L + STRIDE, 0) // STRIDE          # compressed tokens visible to each row
    most = tl.maximum(last + 1 - L + STRIDE, 0) // STRIDE
    q = load_rows(Q + token0 * sqt + group * G * sqh, rel * sqt + head * sqh, D, DP)
    if DT:
        q2 = load_rows(Q + token0 * sqt + group * G * sqh + DP, rel * sqt + head * sqh, D - DP, DT)
    slope = scale * 1.4426950408889634           # scores in units of log 2

    peak = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, EP), tl.float32)
    cols = tl.arange(0, BN)
    for n in range(0, most, BN):
        pos = n + cols
        key = tl.minimum(pos, count - 1) - n
        key0 = (cmp_start + n).to(tl.int64)
        k = load_rows(K + key0 * skt + group * skh, key * skt, D, DP)
        if DT:
            k2 = load_rows(K + key0 * skt + group * skh + DP, key * skt, D - DP, DT)
        s = tl.dot(q, tl.trans(k))
        if DT:
            s = tl.dot(q2, tl.trans(k2), s)
        s = s * slope
        keep = pos[None, :] < seen[:, None]
        s = tl.where(keep, s, float("-inf"))
        top = tl.maximum(peak, tl.max(s, 1))
        base = tl.where(top == float("-inf"), 0.0, top)
        p = tl.exp2(s - base[:, None])
        shrink = tl.exp2(peak - base)
        total = total * shrink + tl.sum(p, 1)
        v = load_rows(V + key0 * svt + group * svh, key * svt, E, EP)
        acc = tl.dot(p.to(v.dtype), v, acc * shrink[:, None])
        peak = top

    none = total == 0.0                          # a row without keys: o = 0, lse = -inf
    total = tl.where(none, 1.0, total)
    acc = acc / total[:, None]
    lse = tl.where(none, float("-inf"), (peak + tl.log2(total)) * 0.6931471805599453)
    e = tl.arange(0, EP)
    out = O + token0 * sot + group * G * soh
    out_offs = rel * sot + head * soh
    tl.store(out + out_offs[:, None] + e[None, :], acc.to(O.dtype.element_ty),
             mask=live[:, None] & (e[None, :] < E))
    tl.store(LSE + token0 * slset + group * G * slseh + rel * slset + head * slseh, lse, mask=live)
