# tests/errors/cases/unterminated-string.py - a string without its closing quote
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: A string ends on the line where it begins.
# Fix: Add the closing quote.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.static_assert(BLOCK >= 16, "too small)
    tl.store(out + at, a)
