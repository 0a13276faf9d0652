import triton
import triton.language as tl


@triton.jit
def bytes_and_flags(A, B, FLAGS, OUT, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    a = tl.load(A + at, mask=inside, other=0)
    b = tl.load(B + at, mask=inside, other=0)
    flag = tl.load(FLAGS + at, mask=inside, other=0)
    tl.store(OUT + at, tl.where(flag != 0, a.to(tl.int32) * b.to(tl.int32), a.to(tl.int32) - b.to(tl.int32)), mask=inside)
