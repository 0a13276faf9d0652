# tests/errors/cases/index-pointer.py - a pointer with an index
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: Pointers are moved with `+`, and the value is loaded.
# Fix: Write `tl.load(x + at)`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    b = x[at]
    tl.store(out + at, a + b)
