# kernels/nn/rmsnorm_bwd.py - RMSNorm, backward: dx, and partial sums of dw for reduce_rows.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl
from kernels.tiles import load_rows


# tessera: types("DY X W DX: *TYPE:16", "RSTD PART: *fp32:16", "N: i32", "sdy sx sdx: i32:16")
# tessera: instance rmsnorm_bwd_quick_f32(TYPE="fp32", D=192, DP=256, BR=4, STEPS=16)
# tessera: instance rmsnorm_bwd_d64_f32(TYPE="fp32", D=768, DP=1024, BR=4, STEPS=16)
# tessera: instance rmsnorm_bwd_paper_bf16(TYPE="bf16", D=2560, DP=4096, BR=4, STEPS=16)
# tessera: cpu(BR=4, STEPS=16)
# tessera: cpu(BR=16, STEPS=4)
# tessera: space(BR=[1, 2, 4, 8, 16, 32], STEPS=[2, 4, 8, 16, 32, 64], where=BR * STEPS == 64)
@triton.jit(do_not_specialize=["N"])
def rmsnorm_bwd(DY, X, W, RSTD, DX, PART, N, sdy, sx, sdx, D: tl.constexpr, DP: tl.constexpr,
                BR: tl.constexpr, STEPS: tl.constexpr):
    """Computes BR*STEPS rows: dx = rstd*(w*dy - xhat*mean(w*dy*xhat)), and one row of PART fp32 [programs, D], the sum of dy*xhat over
    these rows. reduce_rows adds PART to dW.

    Grid: (cdiv(N, BR*STEPS)).
    """
    row0 = tl.program_id(0) * (BR * STEPS)
    first = tl.program_id(0).to(tl.int64) * (BR * STEPS)
    d = tl.arange(0, DP)
    w = tl.load(W + d, mask=d < D, other=0.0).to(tl.float32)
    dw = tl.zeros((DP,), tl.float32)
    for step in range(0, tl.minimum(STEPS, (N - row0 + BR - 1) // BR)):
        at = step * BR + tl.arange(0, BR)
        live = row0 + at < N
        rel = tl.minimum(row0 + at, N - 1) - row0
        x = load_rows(X + first * sx, rel * sx, D, DP).to(tl.float32)
        dy = load_rows(DY + first * sdy, rel * sdy, D, DP).to(tl.float32)
        dy = tl.where(live[:, None], dy, 0.0)
        rstd = tl.load(RSTD + first + rel)
        xhat = x * rstd[:, None]
        wdy = dy * w[None, :]
        mean = tl.sum(wdy * xhat, 1) * (1.0 / D)
        dx = (wdy - xhat * mean[:, None]) * rstd[:, None]
        tl.store(DX + first * sdx + (rel * sdx)[:, None] + d[None, :], dx.to(DX.dtype.element_ty),
                 mask=live[:, None] & (d[None, :] < D))
        dw += tl.sum(dy * xhat, 0)
    tl.store(PART + tl.program_id(0).to(tl.int64) * D + d, dw, mask=d < D)
