# tests/errors/cases/CodegenFailed.py - kernel files that cause CodegenFailed, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# not-on-this-target - an operation that the target does not have
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

# expect:
# | kernel.py:10:9: error: the CPU target cannot compile rounding towards zero to this type (tile.convert) [CodegenFailed]
# |       b = a.to(tl.float16, fp_downcast_rounding="rtz")
# |           ^
# | HINT: rewrite the expression, or compile this kernel for a GPU target
