import triton
import triton.language as tl


@triton.jit
def paged_decode(Q, KEYS, VALUES, PAGES, LENGTHS, O, stride_q, stride_page, stride_token, pages, scale,
                 PAGE: tl.constexpr, D: tl.constexpr):
    """One query per sequence over keys that lie in pages anywhere in a pool."""
    b = tl.program_id(0)
    length = tl.load(LENGTHS + b)
    d = tl.arange(0, D)
    t = tl.arange(0, PAGE)
    q = tl.load(Q + b * stride_q + d).to(tl.float32)
    peak = -float("inf")
    total = 0.0
    acc = tl.zeros([D], tl.float32)
    for j in range(0, tl.cdiv(length, PAGE)):
        page = tl.load(PAGES + b * pages + j).to(tl.int64) * stride_page
        inside = j * PAGE + t < length
        at = page + t[:, None] * stride_token + d[None, :]
        k = tl.load(KEYS + at, mask=inside[:, None], other=0.0).to(tl.float32)
        s = tl.where(inside, tl.sum(q[None, :] * k, 1) * scale, -float("inf"))
        new = tl.maximum(peak, tl.max(s, 0))
        shrink = tl.exp(peak - new)
        p = tl.exp(s - new)
        v = tl.load(VALUES + at, mask=inside[:, None], other=0.0).to(tl.float32)
        acc = acc * shrink + tl.sum(p[:, None] * v, 0)
        total = total * shrink + tl.sum(p, 0)
        peak = new
    tl.store(O + b * stride_q + d, (acc / total).to(O.dtype.element_ty))
