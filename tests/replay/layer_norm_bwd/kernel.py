import triton
import triton.language as tl


@triton.jit
def layer_norm_back(DX, DY, X, W, DW, DB, MEAN, RSTD, COUNT, stride, cols, BLOCK: tl.constexpr):
    """dx of a row; its part of dw and db is added to them by atomics."""
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    inside = c < cols
    x = tl.load(X + row * stride + c, mask=inside, other=0)
    dy = tl.load(DY + row * stride + c, mask=inside, other=0)
    w = tl.load(W + c, mask=inside)
    mean, rstd = tl.load(MEAN + row), tl.load(RSTD + row)
    normal = tl.where(inside, (x - mean) * rstd, 0.)
    wdy = tl.where(inside, w * dy, 0.)
    c1 = tl.sum(normal * wdy, axis=0) / cols
    c2 = tl.sum(wdy, axis=0) / cols
    tl.store(DX + row * stride + c, (wdy - (normal * c1 + c2)) * rstd, mask=inside)
    tl.atomic_add(DW + c, dy * normal, mask=inside)
    tl.atomic_add(DB + c, dy, mask=inside, sem="relaxed")
    tl.atomic_add(COUNT, 1)
