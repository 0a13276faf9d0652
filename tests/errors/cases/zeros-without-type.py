# tests/errors/cases/zeros-without-type.py - zeros of no type
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: A block has a type from its birth.
# Fix: Write `tl.zeros((BLOCK,), tl.float32)`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    b = tl.zeros((BLOCK,))
    tl.store(out + at, a + b)
