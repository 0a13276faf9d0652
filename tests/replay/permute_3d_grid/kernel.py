import triton
import triton.language as tl


@triton.jit
def permute_copy(IN, OUT, n0, n1, n2, si0, si1, si2, so0, so1, so2, B: tl.constexpr):
    a = tl.program_id(2)
    i = tl.program_id(1) * B + tl.arange(0, B)
    j = tl.program_id(0) * B + tl.arange(0, B)
    inside = (i < n1)[:, None] & (j < n2)[None, :]
    x = tl.load(IN + a * si0 + i[:, None] * si1 + j[None, :] * si2, mask=inside)
    tl.store(OUT + a * so0 + i[:, None] * so1 + j[None, :] * so2, x, mask=inside)
