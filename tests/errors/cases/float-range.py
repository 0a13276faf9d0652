# tests/errors/cases/float-range.py - a range that ends at a float
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: `/` always gives a float, and a loop counts in integers.
# Fix: Divide with `//`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    for k in range(0, n / BLOCK):
        a += tl.load(x + k * BLOCK + at)
    tl.store(out + at, a)
