# kernels/tutorials/flash_attention.py - attention with a running softmax, one tile of queries a program.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl


# tessera: types("Q K V O: *TYPE:16", "LSE: *fp32:16", "scale: fp32", "sh st: i32:16", "T: i32")
# tessera: instance flash_attention_f16(TYPE="fp16", D=64, BM=64, BN=32, CAUSAL=1)
# tessera: instance flash_attention_f32(TYPE="fp32", D=64, BM=64, BN=32, CAUSAL=0)
@triton.jit
def flash_attention(Q, K, V, O, LSE, scale, sh, st, T, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
                    CAUSAL: tl.constexpr):
    """Computes attention of one tile of BM queries of a head. Q, K, V, O [heads, T, D]; LSE [heads, T], natural logarithm.

    Grid: (cdiv(T, BM), heads).
    """
    first = tl.program_id(0) * BM
    base = tl.program_id(1) * sh
    m = first + tl.arange(0, BM)
    n = tl.arange(0, BN)
    d = tl.arange(0, D)
    q = tl.load(Q + base + m[:, None] * st + d[None, :], mask=m[:, None] < T, other=0.0)
    peak = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    slope = scale * 1.4426950408889634
    end = tl.minimum(first + BM, T) if CAUSAL else T
    for start in range(0, end, BN):
        key = start + n
        k = tl.load(K + base + key[None, :] * st + d[:, None], mask=key[None, :] < T, other=0.0)
        s = tl.dot(q, k) * slope
        keep = key[None, :] < T
        if CAUSAL:
            keep = keep & (key[None, :] <= m[:, None])
        s = tl.where(keep, s, float("-inf"))
        top = tl.maximum(peak, tl.max(s, 1))
        p = tl.exp2(s - top[:, None])
        shrink = tl.exp2(peak - top)
        total = total * shrink + tl.sum(p, 1)
        v = tl.load(V + base + key[:, None] * st + d[None, :], mask=key[:, None] < T, other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc * shrink[:, None])
        peak = top
    acc = acc / total[:, None]
    tl.store(O + base + m[:, None] * st + d[None, :], acc.to(O.dtype.element_ty), mask=m[:, None] < T)
    tl.store(LSE + tl.program_id(1) * T + m, (peak + tl.log2(total)) * 0.6931471805599453, mask=m < T)
