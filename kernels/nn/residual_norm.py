# kernels/nn/residual_norm.py - a residual sum and its RMSNorm in one pass, and the gradient of both.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl
from kernels.tiles import load_rows


# tessera: types("X R W Z Y: *TYPE:16", "RSTD: *fp32:16", "N: i32", "eps: fp32", "sx sr sy: i32:16")
# tessera: instance residual_norm_fwd_quick_f32(TYPE="fp32", D=192, DP=256, BR=4)
# tessera: instance residual_norm_fwd_d64_f32(TYPE="fp32", D=768, DP=1024, BR=4)
# tessera: instance residual_norm_fwd_paper_bf16(TYPE="bf16", D=2560, DP=4096, BR=4)
# tessera: cpu(BR=4)
# tessera: cpu(BR=16)
# tessera: space(BR=[1, 2, 4, 8, 16, 32])
# tessera: grid(cdiv(N, BR))
@triton.jit(do_not_specialize=["N"])
def residual_norm_fwd(X, R, W, Z, Y, RSTD, N, eps, sx, sr, sy, D: tl.constexpr, DP: tl.constexpr, BR: tl.constexpr):
    """Computes BR rows: z = x + r, rounded to Z's type, and y = z * w * rstd with rstd = 1 / sqrt(mean(z^2) + eps). Stores RSTD for the
    backward pass."""
    row0 = tl.program_id(0) * BR
    live = row0 + tl.arange(0, BR) < N
    rel = tl.minimum(row0 + tl.arange(0, BR), N - 1) - row0
    first = tl.program_id(0).to(tl.int64) * BR
    d = tl.arange(0, DP)
    x = load_rows(X + first * sx, rel * sx, D, DP).to(tl.float32)
    r = load_rows(R + first * sr, rel * sr, D, DP).to(tl.float32)
    rounded = (x + r).to(Z.dtype.element_ty)
    keep = live[:, None] & (d[None, :] < D)
    tl.store(Z + first * sy + (rel * sy)[:, None] + d[None, :], rounded, mask=keep)
    z = rounded.to(tl.float32)
    w = tl.load(W + d, mask=d < D, other=0.0).to(tl.float32)
    rstd = 1.0 / tl.sqrt(tl.sum(z * z, 1) * (1.0 / D) + eps)
    y = z * rstd[:, None] * w[None, :]
    tl.store(Y + first * sy + (rel * sy)[:, None] + d[None, :], y.to(Y.dtype.element_ty), mask=keep)
    tl.store(RSTD + first + rel, rstd, mask=live)


# tessera: types("DY DZ Z W DX: *TYPE:16", "RSTD PART: *fp32:16", "N: i32", "sdy sdz sz sdx: i32:16")
# tessera: instance residual_norm_bwd_quick_f32(TYPE="fp32", D=192, DP=256, BR=4, STEPS=16)
# tessera: instance residual_norm_bwd_d64_f32(TYPE="fp32", D=768, DP=1024, BR=4, STEPS=16)
# tessera: instance residual_norm_bwd_paper_bf16(TYPE="bf16", D=2560, DP=4096, BR=4, STEPS=16)
# tessera: cpu(BR=4, STEPS=16)
# tessera: cpu(BR=16, STEPS=4)
# tessera: space(BR=[1, 2, 4, 8, 16, 32], STEPS=[2, 4, 8, 16, 32, 64], where=BR * STEPS == 64)
# tessera: grid(cdiv(N, BR * STEPS))
@triton.jit(do_not_specialize=["N"])
def residual_norm_bwd(DY, DZ, Z, W, RSTD, DX, PART, N, sdy, sdz, sz, sdx, D: tl.constexpr, DP: tl.constexpr,
                      BR: tl.constexpr, STEPS: tl.constexpr):
    """Computes BR*STEPS rows: dx = dz + rstd*(w*dy - zhat*mean(w*dy*zhat)), the gradient of both x and r, and a row of PART as in
    rmsnorm_bwd.py."""
    row0 = tl.program_id(0) * (BR * STEPS)
    first = tl.program_id(0).to(tl.int64) * (BR * STEPS)
    d = tl.arange(0, DP)
    w = tl.load(W + d, mask=d < D, other=0.0).to(tl.float32)
    dw = tl.zeros((DP,), tl.float32)
    for step in range(0, tl.minimum(STEPS, (N - row0 + BR - 1) // BR)):
        at = step * BR + tl.arange(0, BR)
        live = row0 + at < N
        rel = tl.minimum(row0 + at, N - 1) - row0
        z = load_rows(Z + first * sz, rel * sz, D, DP).to(tl.float32)
        dy = load_rows(DY + first * sdy, rel * sdy, D, DP).to(tl.float32)
        dz = load_rows(DZ + first * sdz, rel * sdz, D, DP).to(tl.float32)
        dy = tl.where(live[:, None], dy, 0.0)
        rstd = tl.load(RSTD + first + rel)
        zhat = z * rstd[:, None]
        wdy = dy * w[None, :]
        mean = tl.sum(wdy * zhat, 1) * (1.0 / D)
        # Rounded like the gradient of rms_norm by itself, then added: an fma of its own keeps the product from being
        # fused with the sum, and the bits are those of two operations.
        norm = tl.fma(wdy - zhat * mean[:, None], tl.broadcast_to(rstd[:, None], (BR, DP)), 0.0)
        dx = norm.to(DX.dtype.element_ty).to(tl.float32) + dz
        tl.store(DX + first * sdx + (rel * sdx)[:, None] + d[None, :], dx.to(DX.dtype.element_ty),
                 mask=live[:, None] & (d[None, :] < D))
        dw += tl.sum(dy * zhat, 0)
    tl.store(PART + tl.program_id(0).to(tl.int64) * D + d, dw, mask=d < D)
