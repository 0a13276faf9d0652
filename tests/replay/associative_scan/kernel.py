import triton
import triton.language as tl


@triton.jit
def combine(a1, b1, a2, b2):
    return a1 * a2, a2 * b1 + b2


@triton.jit
def recurrence(A, B, H, SUMS, steps, channels, stride, BT: tl.constexpr, BC: tl.constexpr):
    """h[t] = a[t] h[t-1] + b[t] by an associative scan over blocks of time."""
    c = tl.program_id(0) * BC + tl.arange(0, BC)
    t = tl.arange(0, BT)
    carry = tl.zeros((1, BC), tl.float32)
    for start in range(0, steps, BT):
        at = (start + t)[:, None] * stride + c[None, :]
        inside = ((start + t) < steps)[:, None] & (c < channels)[None, :]
        a = tl.load(A + at, mask=inside, other=1.0)
        b = tl.load(B + at, mask=inside, other=0.0)
        pa, h = tl.associative_scan((a, b), 0, combine)
        h = h + pa * carry
        tl.store(H + at, h, mask=inside)
        tl.store(SUMS + at, tl.cumsum(b, axis=0), mask=inside)
        carry = tl.sum(tl.where(t[:, None] == BT - 1, h, 0.0), axis=0)[None, :]
