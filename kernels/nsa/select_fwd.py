# kernels/nsa/select_fwd.py - attention over selected blocks, forward, one token at a time.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl
from kernels.tiles import find_tile, load_rows


# tessera: types("Q K V O: *TYPE:16", "IDX CU: *i32:16", "LSE: *fp32:16", "scale: fp32", "T nseq slset: i32", "slseh: 1", "s*: i32:16")
# tessera: instance select_fwd_quick_f32(TYPE="fp32", G=3, GP=4, LSEL=32, NSEL=6, D=32, DP=32, DT=0, E=32, EP=32, BN=32)
# tessera: instance select_fwd_d64_f32(TYPE="fp32", G=4, GP=4, LSEL=64, NSEL=16, D=64, DP=64, DT=0, E=64, EP=64, BN=64)
# tessera: instance select_fwd_paper_bf16(TYPE="bf16", slset="i32:16", G=16, GP=16, LSEL=64, NSEL=16, D=192, DP=128, DT=64, E=128, EP=128, BN=64)
# tessera: cpu(BN=32)
# tessera: cpu(BN=64)
# tessera: space(BN=[16, 32, 64], where=BN <= LSEL)
# tessera: swap_ab
@triton.autotune(
    configs=[
        triton.Config({"BN": 64}, num_warps=4, num_stages=2),
        triton.Config({"BN": 32}, num_warps=2, num_stages=3),
    ],
    key=["G", "D", "E"],
)
@triton.jit(do_not_specialize=["T", "nseq"])
def select_fwd(Q, K, V, IDX, O, LSE, CU, scale, T, nseq, sqt, sqh, skt, skh, svt, svh, sot, soh, slset, slseh,
               G: tl.constexpr, GP: tl.constexpr, LSEL: tl.constexpr, NSEL: tl.constexpr,
               D: tl.constexpr, DP: tl.constexpr, DT: tl.constexpr, E: tl.constexpr, EP: tl.constexpr, BN: tl.constexpr):
    """One token, all heads of one KV head; each selected block is loaded once for the whole group."""
    _, start, length, t = find_tile(CU, nseq, tl.program_id(0), 1)
    group = tl.program_id(1).to(tl.int64)
    if t >= length:
        return
    head = tl.minimum(tl.arange(0, GP), G - 1)   # padding rows repeat the last head and are not stored
    live = tl.arange(0, GP) < G
    token0 = (start + t).to(tl.int64)
    row = IDX + (group * T + start + t) * NSEL
    q = load_rows(Q + token0 * sqt + group * G * sqh, head * sqh, D, DP)
    if DT:
        q2 = load_rows(Q + token0 * sqt + group * G * sqh + DP, head * sqh, D - DP, DT)
    slope = scale * 1.4426950408889634           # scores in units of log 2

    peak = tl.full((GP,), float("-inf"), tl.float32)
    total = tl.zeros((GP,), tl.float32)
    acc = tl.zeros((GP, EP), tl.float32)
    cols = tl.arange(0, BN)
    for r in range(0, NSEL):
        block = tl.load(row + r)                 # -1: no more, an empty range of keys
        low = tl.maximum(block, 0) * LSEL
        bound = tl.minimum((block + 1) * LSEL, t + 1)
        for n in range(low, bound, BN):
            pos = n + cols
            key = tl.minimum(pos, length - 1) - n
            key0 = (start + n).to(tl.int64)
            k = load_rows(K + key0 * skt + group * skh, key * skt, D, DP)
            if DT:
                k2 = load_rows(K + key0 * skt + group * skh + DP, key * skt, D - DP, DT)
            s = tl.dot(q, tl.trans(k))
            if DT:
                s = tl.dot(q2, tl.trans(k2), s)
            s = s * slope
            keep = (pos < bound)[None, :]
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
    out_offs = head * soh
    tl.store(out + out_offs[:, None] + e[None, :], acc.to(O.dtype.element_ty),
             mask=live[:, None] & (e[None, :] < E))
    tl.store(LSE + token0 * slset + group * G * slseh + head * slseh, lse, mask=live)
