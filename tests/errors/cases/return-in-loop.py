# tests/errors/cases/return-in-loop.py - a return inside a loop
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: A loop of a kernel runs through all its rounds.
# Fix: Put what must not happen any more under an `if`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    for k in range(n):
        if k > 10:
            return
        tl.store(out + at, a + k)
