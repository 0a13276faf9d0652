# tests/errors/cases/reshape-size.py - a reshape that changes the number of elements
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: A reshape orders the same elements anew.
# Fix: 128 elements are (16, 8), (32, 4) and so on.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tile = tl.reshape(a, (16, 16))
    tl.store(out, tl.sum(tile))
