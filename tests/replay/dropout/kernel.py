import triton
import triton.language as tl


@triton.jit
def dropout(X, OUT, KEEP, RANDOM, n, p, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + at, mask=at < n)
    keep = tl.load(RANDOM + at, mask=at < n) > p
    tl.store(OUT + at, tl.where(keep, x / (1 - p), 0.0), mask=at < n)
    tl.store(KEEP + at, keep, mask=at < n)
