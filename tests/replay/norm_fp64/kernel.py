import triton
import triton.language as tl


@triton.jit
def reduce_fp64(X, OUT, rows, cols, BR: tl.constexpr, BC: tl.constexpr):
    r = tl.program_id(0) * BR + tl.arange(0, BR)
    total = tl.zeros((BR,), tl.float64)
    for start in range(0, cols, BC):
        c = start + tl.arange(0, BC)
        x = tl.load(X + r[:, None] * cols + c[None, :], mask=(r < rows)[:, None] & (c < cols)[None, :], other=0.0)
        total += tl.sum(x * x, axis=1)
    tl.store(OUT + r, tl.sqrt(total), mask=r < rows)
