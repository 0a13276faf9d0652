# tests/errors/cases/InvalidString.py - kernel files that cause InvalidString, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# unterminated-string - a string without its closing quote
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

# expect:
# | kernel.py:10:35: error: a string that is never closed [InvalidString]
# |       tl.static_assert(BLOCK >= 16, "too small)
# |                                     ^~~~~~~~~~~
# | HINT: close it on the same line, or use three quotes
