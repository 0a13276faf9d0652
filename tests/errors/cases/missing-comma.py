# tests/errors/cases/missing-comma.py - two arguments without a comma
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: Arguments are separated by commas.
# Fix: Write `tl.load(x + at, mask=at < n)`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    b = tl.load(x + at mask=at < n)
    tl.store(out + at, a + b)
