import triton
import triton.language as tl


@triton.jit
def add_masked(X, Y, OUT, n, BLOCK: tl.constexpr):
    at = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(X + at, mask=inside)
    y = tl.load(Y + at, mask=inside, other=0.0)
    tl.store(OUT + at, x + y, mask=inside)
