# tests/errors/cases/type-as-string.py - a type given as text
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: Types are values of the module `tl`.
# Fix: Write `tl.float32`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    b = tl.zeros((BLOCK,), "float32")
    tl.store(out + at, a + b)
