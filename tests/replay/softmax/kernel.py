import triton
import triton.language as tl


@triton.jit
def softmax_rows(OUT, IN, stride_out, stride_in, rows, cols, BLOCK: tl.constexpr):
    """A row per step; each program takes every num_programs-th row."""
    first = tl.program_id(0)
    step = tl.num_programs(0)
    for row in tl.range(first, rows, step, num_stages=2):
        c = tl.arange(0, BLOCK)
        x = tl.load(IN + row * stride_in + c, mask=c < cols, other=-float("inf"))
        e = tl.exp(x - tl.max(x, axis=0))
        tl.store(OUT + row * stride_out + c, e / tl.sum(e, axis=0), mask=c < cols)
