# tests/errors/cases/lost-constexpr.py - a compile-time value assigned to a plain variable
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: A number that is assigned becomes a run-time value, as under Triton.
# Fix: Keep it: `half: tl.constexpr = BLOCK // 2`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    half = BLOCK // 2
    b = tl.load(x + tl.arange(0, half))
    tl.store(out + tl.arange(0, half), b)
