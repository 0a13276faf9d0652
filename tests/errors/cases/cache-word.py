# tests/errors/cases/cache-word.py - an unknown cache word
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: The words are those of Triton.
# Fix: Use one of the words that the message lists, or leave it out.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    b = tl.load(x + at, cache_modifier=".fast")
    tl.store(out + at, a + b)
