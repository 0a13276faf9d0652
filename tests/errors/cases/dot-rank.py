# tests/errors/cases/dot-rank.py - a product of vectors
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: tl.dot multiplies matrices.
# Fix: Write `tl.sum(a * a)` for the product of two vectors.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out, tl.dot(a, a))
