# tests/errors/cases/mask-shape.py - a mask of another shape than the pointers
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: There must be one truth value for each address.
# Fix: Make the mask from the same index: `mask=at < n`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    wide = tl.arange(0, 256) < n
    tl.store(out + at, a, mask=wide)
