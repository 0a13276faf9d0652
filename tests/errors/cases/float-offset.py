# tests/errors/cases/float-offset.py - a pointer moved by a float
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: `/` always gives a float, and an address is counted in whole elements.
# Fix: Divide with `//`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at + n / 2, a)
