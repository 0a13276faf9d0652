import triton
import triton.language as tl


@triton.jit
def add_one(X, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(X + at, tl.load(X + at, mask=at < n) + 1, mask=at < n)
