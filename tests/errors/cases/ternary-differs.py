# tests/errors/cases/ternary-differs.py - a conditional expression of two types
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: Both sides of `x if c else y` must have one type.
# Fix: Write `0.0` for `0`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    scale = 0.5 if n > 1000 else 0
    tl.store(out + at, a * scale)
