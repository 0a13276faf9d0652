# tests/errors/cases/arms-differ.py - an `if` that leaves a variable with two types
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: After the `if` a variable has one type, whichever way was taken.
# Fix: Write `1.0` in the first arm.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    if n > 1000:
        scale = 1
    else:
        scale = 0.5
    tl.store(out + at, a * scale)
