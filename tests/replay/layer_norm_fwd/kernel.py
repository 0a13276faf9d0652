import triton
import triton.language as tl


@triton.jit
def layer_norm(X, Y, W, B, MEAN, RSTD, stride, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    X += row * stride
    Y += row * stride
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, cols, BLOCK):
        c = start + tl.arange(0, BLOCK)
        total += tl.load(X + c, mask=c < cols, other=0.).to(tl.float32)
    mean = tl.sum(total, axis=0) / cols
    spread = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, cols, BLOCK):
        c = start + tl.arange(0, BLOCK)
        x = tl.load(X + c, mask=c < cols, other=0.).to(tl.float32)
        x = tl.where(c < cols, x - mean, 0.)
        spread += x * x
    rstd = 1 / tl.sqrt(tl.sum(spread, axis=0) / cols + eps)
    tl.store(MEAN + row, mean)
    tl.store(RSTD + row, rstd)
    for start in range(0, cols, BLOCK):
        c = start + tl.arange(0, BLOCK)
        inside = c < cols
        x = tl.load(X + c, mask=inside, other=0.).to(tl.float32)
        y = (x - mean) * rstd
        if W is not None:
            y = y * tl.load(W + c, mask=inside).to(tl.float32)
        if B is not None:
            y += tl.load(B + c, mask=inside).to(tl.float32)
        tl.store(Y + c, y.to(Y.dtype.element_ty), mask=inside)
