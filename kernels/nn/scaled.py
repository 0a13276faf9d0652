# kernels/nn/scaled.py - fp32 numbers times a factor, in the type of the result.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl


# tessera: types("X: *fp32:16", "Y: *TYPE:16", "factor: fp32", "n: i32")
# tessera: instance scaled_bf16(TYPE="bf16", BC=1024)
# tessera: instance scaled_f32(TYPE="fp32", BC=1024)
# tessera: cpu(BC=1024)
# tessera: cpu(BC=4096)
# tessera: space(BC=[256, 512, 1024, 2048, 4096, 8192])
@triton.jit(do_not_specialize=["n"])
def scaled(X, Y, factor, n, BC: tl.constexpr):
    """Computes y = factor * x for BC of n contiguous fp32 elements and rounds once.

    Grid: (cdiv(n, BC)).
    """
    first = tl.program_id(0).to(tl.int64) * BC
    at = tl.arange(0, BC)
    live = at < tl.minimum(n - first, BC)
    x = tl.load(X + first + at, mask=live, other=0.0)
    tl.store(Y + first + at, (x * factor).to(Y.dtype.element_ty), mask=live)
