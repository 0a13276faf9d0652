import triton
import triton.language as tl


@triton.jit
def rope(X, COS, SIN, T, heads, stride_t, stride_h, HALF: tl.constexpr, BT: tl.constexpr, BACKWARD: tl.constexpr):
    """In place: the two halves of a head are the parts of complex numbers."""
    t = tl.program_id(0) * BT + tl.arange(0, BT)
    head = tl.program_id(1)
    i = tl.arange(0, HALF)
    inside = (t < T)[:, None]
    cos = tl.load(COS + t[:, None] * HALF + i[None, :], mask=inside)
    sin = tl.load(SIN + t[:, None] * HALF + i[None, :], mask=inside)
    if BACKWARD:
        sin = -sin
    at = X + t[:, None] * stride_t + head * stride_h + i[None, :]
    x = tl.load(at, mask=inside)
    y = tl.load(at + HALF, mask=inside)
    tl.store(at, x * cos - y * sin, mask=inside)
    tl.store(at + HALF, y * cos + x * sin, mask=inside)
