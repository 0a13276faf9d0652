# tests/errors/cases/split-last-dimension.py - splitting a block whose last dimension is not 2
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: tl.split takes the two halves of a last dimension of size 2.
# Fix: Reshape first: `tl.split(tl.reshape(a, (BLOCK // 2, 2)))`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    even, odd = tl.split(a)
    tl.store(out + at, a)
