import triton
import triton.language as tl


@triton.jit
def sum_sequences(X, OFFSETS, OUT, dim, stride, BT: tl.constexpr, BD: tl.constexpr):
    """The mean over the tokens of each sequence; sequences differ in length, one is empty."""
    sequence = tl.program_id(1)
    begin = tl.load(OFFSETS + sequence)
    end = tl.load(OFFSETS + sequence + 1)
    d = tl.program_id(0) * BD + tl.arange(0, BD)
    acc = tl.zeros((BD,), tl.float32)
    for start in range(begin, end, BT):
        t = start + tl.arange(0, BT)
        x = tl.load(X + t[:, None] * stride + d[None, :], mask=(t < end)[:, None] & (d < dim)[None, :], other=0.0)
        acc += tl.sum(x, axis=0)
    mean = acc / tl.maximum(end - begin, 1)
    tl.store(OUT + sequence * dim + d, mean, mask=d < dim)
