# tests/errors/cases/chained-comparison.py - a chained comparison of blocks
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: Python reads `0 <= at < n` as `0 <= at and at < n`, and `and` needs one truth value.
# Fix: Write `(0 <= at) & (at < n)`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, a, mask=0 <= at < n)
