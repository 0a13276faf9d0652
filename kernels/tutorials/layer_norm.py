# kernels/tutorials/layer_norm.py - layer normalization, forward and backward.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl


# tessera: types("X W B Y MEAN RSTD: *fp32:16", "s N: i32", "eps: fp32")
# tessera: instance layer_norm_fwd_f32(BLOCK=128)
@triton.jit
def layer_norm_fwd(X, W, B, Y, MEAN, RSTD, s, N, eps, BLOCK: tl.constexpr):
    """Computes one row in pieces of BLOCK: the mean, then the variance, then the result.

    Grid: (rows).
    """
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, N, BLOCK):
        c = start + tl.arange(0, BLOCK)
        total += tl.load(X + row * s + c, mask=c < N, other=0.0).to(tl.float32)
    mean = tl.sum(total, 0) / N
    square = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, N, BLOCK):
        c = start + tl.arange(0, BLOCK)
        d = tl.where(c < N, tl.load(X + row * s + c, mask=c < N, other=0.0).to(tl.float32) - mean, 0.0)
        square += d * d
    rstd = 1.0 / tl.sqrt(tl.sum(square, 0) / N + eps)
    tl.store(MEAN + row, mean)
    tl.store(RSTD + row, rstd)
    for start in range(0, N, BLOCK):
        c = start + tl.arange(0, BLOCK)
        x = tl.load(X + row * s + c, mask=c < N, other=0.0).to(tl.float32)
        w = tl.load(W + c, mask=c < N, other=0.0)
        b = tl.load(B + c, mask=c < N, other=0.0)
        tl.store(Y + row * s + c, ((x - mean) * rstd * w + b).to(Y.dtype.element_ty), mask=c < N)


# tessera: types("DX DY X W MEAN RSTD DW DB: *fp32:16", "s N: i32")
# tessera: instance layer_norm_bwd_dx_f32(BLOCK=512)
@triton.jit
def layer_norm_bwd_dx(DX, DY, X, W, MEAN, RSTD, DW, DB, s, N, BLOCK: tl.constexpr):
    """Computes dx of one row, and adds the row's part of dw and db atomically to arrays that are zero before.

    Grid: (rows).
    """
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    live = c < N
    x = tl.load(X + row * s + c, mask=live, other=0.0).to(tl.float32)
    dy = tl.load(DY + row * s + c, mask=live, other=0.0).to(tl.float32)
    w = tl.load(W + c, mask=live, other=0.0)
    rstd = tl.load(RSTD + row)
    xhat = tl.where(live, (x - tl.load(MEAN + row)) * rstd, 0.0)
    wdy = tl.where(live, w * dy, 0.0)
    along = tl.sum(xhat * wdy, 0) / N
    even = tl.sum(wdy, 0) / N
    tl.store(DX + row * s + c, ((wdy - (xhat * along + even)) * rstd).to(DX.dtype.element_ty), mask=live)
    tl.atomic_add(DW + c, dy * xhat, mask=live)
    tl.atomic_add(DB + c, dy, mask=live)
