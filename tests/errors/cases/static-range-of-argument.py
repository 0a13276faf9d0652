# tests/errors/cases/static-range-of-argument.py - unrolling up to a run-time value
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: tl.static_range unrolls while compiling and must know how often.
# Fix: Use `range(n)`, or make `n` a tl.constexpr.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    for k in tl.static_range(n):
        a += 1.0
    tl.store(out + at, a)
