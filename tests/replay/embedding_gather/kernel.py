import triton
import triton.language as tl


@triton.jit
def embed(TABLE, TOKENS, OUT, USED, dim, padding, BLOCK: tl.constexpr):
    position = tl.program_id(0).to(tl.int64)
    token = tl.load(TOKENS + position)
    d = tl.arange(0, BLOCK)
    row = tl.load(TABLE + token * dim + d, mask=(d < dim) & (token != padding), other=0.0)
    tl.store(OUT + position * dim + d, row, mask=d < dim)
    tl.atomic_max(USED + token, 1)
