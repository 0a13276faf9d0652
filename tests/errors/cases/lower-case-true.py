# tests/errors/cases/lower-case-true.py - `true` instead of `True`
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: Python's truth values are written with capitals.
# Fix: Write `True`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    b = tl.load(x + at, volatile=true)
    tl.store(out + at, a + b)
