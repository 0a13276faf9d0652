# tests/errors/cases/recursion.py - a function that calls itself
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: Helpers are compiled into their callers, and this would never end.
# Fix: Write a loop.

import triton
import triton.language as tl


@triton.jit
def power(x, k):
    if k == 0:
        return x
    return x * power(x, k - 1)


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, power(a, n))
