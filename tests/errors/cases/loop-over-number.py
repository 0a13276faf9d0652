# tests/errors/cases/loop-over-number.py - a loop over a number
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: `for` goes through a range.
# Fix: Write `for k in range(n):`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    for k in n:
        a += 1.0
    tl.store(out + at, a)
