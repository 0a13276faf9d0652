# kernels/nn/activation.py - the activation of an MLP and its gradient: squared ReLU, SiLU, SwiGLU.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl


@triton.jit
def positive_part(x):
    """max(x, 0), but NaN for NaN, which tl.maximum turns into 0."""
    return tl.where(x < 0.0, 0.0, x)


@triton.jit
def sigmoid(x):
    return 1.0 / (1.0 + tl.exp(-x))


# tessera: types("X G Y: *TYPE:16", "n: i32")
# tessera: instance activation_fwd_relu2_f32(TYPE="fp32", KIND=0, BC=1024)
# tessera: instance activation_fwd_relu2_bf16(TYPE="bf16", KIND=0, BC=1024)
# tessera: instance activation_fwd_swiglu_bf16(TYPE="bf16", KIND=2, BC=1024)
# tessera: cpu(BC=1024)
# tessera: cpu(BC=4096)
# tessera: space(BC=[256, 512, 1024, 2048, 4096, 8192])
@triton.jit(do_not_specialize=["n"])
def activation_fwd(X, G, Y, n, KIND: tl.constexpr, BC: tl.constexpr):
    """Computes BC of n contiguous elements in fp32 and rounds once. KIND 0: max(x, 0)^2, 1: silu(x), 2: silu(g) * x. KIND 0 and 1 do not
    read G: pass X. NaN gives NaN.

    Grid: (cdiv(n, BC)).
    """
    first = tl.program_id(0).to(tl.int64) * BC
    at = tl.arange(0, BC)
    live = at < tl.minimum(n - first, BC)
    x = tl.load(X + first + at, mask=live, other=0.0).to(tl.float32)
    if KIND == 0:
        y = positive_part(x)
        y = y * y
    elif KIND == 1:
        y = x * sigmoid(x)
    else:
        g = tl.load(G + first + at, mask=live, other=0.0).to(tl.float32)
        y = g * sigmoid(g) * x
    tl.store(Y + first + at, y.to(Y.dtype.element_ty), mask=live)


# tessera: types("DY X G DX DG: *TYPE:16", "n: i32")
# tessera: instance activation_bwd_relu2_f32(TYPE="fp32", KIND=0, BC=1024)
# tessera: instance activation_bwd_relu2_bf16(TYPE="bf16", KIND=0, BC=1024)
# tessera: instance activation_bwd_swiglu_bf16(TYPE="bf16", KIND=2, BC=1024)
# tessera: cpu(BC=1024)
# tessera: cpu(BC=4096)
# tessera: space(BC=[256, 512, 1024, 2048, 4096, 8192])
@triton.jit(do_not_specialize=["n"])
def activation_bwd(DY, X, G, DX, DG, n, KIND: tl.constexpr, BC: tl.constexpr):
    """Computes DX, and DG for KIND 2, from DY and the inputs of activation_fwd. For KIND 0 and 1 pass X as G and DX as DG.

    Grid: (cdiv(n, BC)).
    """
    first = tl.program_id(0).to(tl.int64) * BC
    at = tl.arange(0, BC)
    live = at < tl.minimum(n - first, BC)
    dy = tl.load(DY + first + at, mask=live, other=0.0).to(tl.float32)
    x = tl.load(X + first + at, mask=live, other=0.0).to(tl.float32)
    if KIND == 0:
        dx = 2.0 * dy * positive_part(x)
    elif KIND == 1:
        s = sigmoid(x)
        dx = dy * s * (1.0 + x * (1.0 - s))
    else:
        g = tl.load(G + first + at, mask=live, other=0.0).to(tl.float32)
        s = sigmoid(g)
        dx = dy * g * s
        dg = dy * x * s * (1.0 + g * (1.0 - s))
        tl.store(DG + first + at, dg.to(DG.dtype.element_ty), mask=live)
    tl.store(DX + first + at, dx.to(DX.dtype.element_ty), mask=live)
