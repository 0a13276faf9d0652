# kernels/nn/rmsnorm_fwd.py - y = x * w / sqrt(mean(x^2) + eps).
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl
from kernels.tiles import load_rows


# tessera: types("X W Y: *TYPE:16", "RSTD: *fp32:16", "N: i32", "eps: fp32", "sx sy: i32:16")
# tessera: instance rmsnorm_fwd_quick_f32(TYPE="fp32", D=192, DP=256, BR=4)
# tessera: instance rmsnorm_fwd_d64_f32(TYPE="fp32", D=768, DP=1024, BR=4)
# tessera: instance rmsnorm_fwd_paper_bf16(TYPE="bf16", D=2560, DP=4096, BR=4)
# tessera: cpu(BR=4)
# tessera: cpu(BR=16)
# tessera: space(BR=[1, 2, 4, 8, 16, 32])
@triton.jit(do_not_specialize=["N"])
def rmsnorm_fwd(X, W, Y, RSTD, N, eps, sx, sy, D: tl.constexpr, DP: tl.constexpr, BR: tl.constexpr):
    """Computes y = x * rstd * w with rstd = 1 / sqrt(mean(x^2) + eps) for BR rows of X [N, D]; W [D]. Statistics and products are fp32,
    rounded once. Stores RSTD fp32 [N] for the backward pass.

    Grid: (cdiv(N, BR)).
    """
    row0 = tl.program_id(0) * BR
    live = row0 + tl.arange(0, BR) < N
    rel = tl.minimum(row0 + tl.arange(0, BR), N - 1) - row0
    first = tl.program_id(0).to(tl.int64) * BR
    d = tl.arange(0, DP)
    x = load_rows(X + first * sx, rel * sx, D, DP).to(tl.float32)
    w = tl.load(W + d, mask=d < D, other=0.0).to(tl.float32)
    rstd = 1.0 / tl.sqrt(tl.sum(x * x, 1) * (1.0 / D) + eps)
    y = x * rstd[:, None] * w[None, :]
    tl.store(Y + first * sy + (rel * sy)[:, None] + d[None, :], y.to(Y.dtype.element_ty),
             mask=live[:, None] & (d[None, :] < D))
    tl.store(RSTD + first + rel, rstd, mask=live)
