import triton
import triton.language as tl


@triton.jit
def seeded_dropout(X, OUT, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + at, mask=at < n)
    tl.store(OUT + at, tl.where(tl.rand(seed, at) > p, x / (1 - p), 0.0), mask=at < n)
