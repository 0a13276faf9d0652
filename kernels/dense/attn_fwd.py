# kernels/dense/attn_fwd.py - causal flash attention, forward.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl
from kernels.tiles import dot_wide, find_tile, load_rows, load_wide, query_rows, softmax_end, softmax_step, store_rows


# tessera: types("Q K V O: *TYPE:16", "LSE: *fp32:16", "CU: *i32:16", "scale: fp32", "nseq slset: i32", "slseh: 1", "s*: i32:16")
# tessera: instance dense_fwd_quick_f32(TYPE="fp32", G=3, D=32, DP=32, DT=0, E=32, EP=32, BM=64, BN=32)
# tessera: instance dense_fwd_d64_f32(TYPE="fp32", G=4, D=64, DP=64, DT=0, E=64, EP=64, BM=64, BN=64)
# tessera: instance dense_fwd_paper_bf16(TYPE="bf16", slset="i32:16", G=16, D=192, DP=128, DT=64, E=128, EP=128, BM=64, BN=64)
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
def dense_fwd(Q, K, V, O, LSE, CU, scale, nseq, sqt, sqh, skt, skh, svt, svh, sot, soh, slset, slseh,
              G: tl.constexpr, D: tl.constexpr, DP: tl.constexpr, DT: tl.constexpr,
              E: tl.constexpr, EP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """One tile of (token, head) rows of one KV head: query t attends keys 0 .. t."""
    BT: tl.constexpr = BM // G                   # whole tokens; the last BM % G rows of a tile are idle
    tl.static_assert(BT > 0, "BM must hold all heads of a token")
    tile = tl.num_programs(0) - 1 - tl.program_id(0)        # late tokens, which see most keys, first
    _, start, length, t0 = find_tile(CU, nseq, tile, BT)
    group = tl.program_id(1).to(tl.int64)
    if t0 >= length:
        return
    head, live, t, rel = query_rows(t0, length, G, BM)
    last = tl.minimum(t0 + BT, length) - 1
    token0 = (start + t0).to(tl.int64)
    q, q2 = load_wide(Q + token0 * sqt + group * G * sqh, rel * sqt + head * sqh, D, DP, DT)
    slope = scale * 1.4426950408889634           # scores in units of log 2

    peak = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, EP), tl.float32)
    cols = tl.arange(0, BN)
    for n in range(0, last + 1, BN):
        pos = n + cols
        key = tl.minimum(pos, length - 1) - n
        key0 = (start + n).to(tl.int64)
        k, k2 = load_wide(K + key0 * skt + group * skh, key * skt, D, DP, DT)
        s = dot_wide(q, q2, tl.trans(k), tl.trans(k2), DT) * slope
        keep = pos[None, :] <= t[:, None]
        s = tl.where(keep, s, float("-inf"))
        p, shrink, peak, total = softmax_step(s, peak, total)
        v = load_rows(V + key0 * svt + group * svh, key * svt, E, EP)
        acc = tl.dot(p.to(v.dtype), v, acc * shrink[:, None])

    acc, lse = softmax_end(acc, peak, total)
    store_rows(O + token0 * sot + group * G * soh, rel * sot + head * soh, acc, E, EP, live)
    tl.store(LSE + token0 * slset + group * G * slseh + rel * slset + head * slseh, lse, mask=live)
