# tests/errors/cases/defined-in-loop.py - a variable that only the body of a loop assigns
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: The loop may run zero times, and then the variable has no value.
# Fix: Assign it before the loop: `last = 0`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    for k in range(n):
        last = k
    tl.store(out + at, a * last)
