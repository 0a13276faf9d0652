# tests/errors/cases/defined-in-one-arm.py - a variable that only one arm of an `if` assigns
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: At run time the other arm may be taken, and then the variable has no value.
# Fix: Assign it before the `if`, or in both arms.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    if n > 1000:
        scale = 0.5
    tl.store(out + at, a * scale)
