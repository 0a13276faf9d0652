# tests/errors/cases/max-of-two-blocks.py - tl.max of two blocks
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: tl.max reduces one block; its second argument is an axis.
# Fix: Write `tl.maximum(a, b)`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    b = tl.load(x + at + 1)
    tl.store(out + at, tl.max(a, b))
