import triton
import triton.language as tl


@triton.jit
def attention(Q, K, V, O, LSE, scale, stride_qh, stride_qt, stride_kh, stride_kt, stride_oh, stride_ot, T, GROUP,
              D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """Causal attention with shared key heads; LSE is the natural logarithm of the sum."""
    block, head = tl.program_id(0), tl.program_id(1)
    t = block * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    q = tl.load(Q + head * stride_qh + t[:, None] * stride_qt + d[None, :], mask=t[:, None] < T, other=0.0)
    K += (head // GROUP) * stride_kh
    V += (head // GROUP) * stride_kh
    peak = tl.full([BM], -float("inf"), tl.float32)
    total = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    for start in tl.range(0, tl.minimum((block + 1) * BM, T), BN):
        s_at = start + tl.arange(0, BN)
        k = tl.load(K + s_at[None, :] * stride_kt + d[:, None], mask=s_at[None, :] < T, other=0.0)
        s = tl.dot(q, k) * (scale * 1.4426950408889634)
        s = tl.where((t[:, None] >= s_at[None, :]) & (s_at[None, :] < T), s, -float("inf"))
        new = tl.maximum(peak, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        alpha = tl.exp2(peak - new)
        total = total * alpha + tl.sum(p, 1)
        v = tl.load(V + s_at[:, None] * stride_kt + d[None, :], mask=s_at[:, None] < T, other=0.0)
        acc = acc * alpha[:, None] + tl.dot(p.to(v.dtype), v)
        peak = new
    acc = acc / total[:, None]
    tl.store(O + head * stride_oh + t[:, None] * stride_ot + d[None, :], acc.to(O.type.element_ty), mask=t[:, None] < T)
    tl.store(LSE + head * T + t, (peak + tl.log2(total)) * 0.6931471805599453, mask=t < T)
