# tests/errors/cases/zero-step.py - a loop that does not move
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: With a step of 0 the loop would never end.
# Fix: Use a step of at least 1, or a negative one to count down.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    for k in range(0, n, 0):
        a += 1.0
    tl.store(out + at, a)
