# tests/errors/cases/where-two-arguments.py - tl.where with two arguments
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: tl.where chooses between two values.
# Fix: Write `tl.where(a > 0.0, a, 0.0)`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, tl.where(a > 0.0, a))
