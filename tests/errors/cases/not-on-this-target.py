# tests/errors/cases/not-on-this-target.py - an operation that the target does not have
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: The kernel is well formed, but code generation for this target does not know the
#   operation.
# Fix: Leave `fp_downcast_rounding` out: fp16 is rounded to nearest.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    b = a.to(tl.float16, fp_downcast_rounding="rtz")
    tl.store(out + at, b)
