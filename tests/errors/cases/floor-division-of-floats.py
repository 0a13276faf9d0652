# tests/errors/cases/floor-division-of-floats.py - `//` between floats
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: Whole division is for integers.
# Fix: Write `tl.floor(a / 2.0)`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, a // 2.0)
