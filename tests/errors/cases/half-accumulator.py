# tests/errors/cases/half-accumulator.py - a float16 accumulator that becomes float32
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: `total` begins as float16, and float16 plus float32 is float32.
# Fix: Begin with float32.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    total = tl.zeros((BLOCK,), tl.float16)
    for k in range(n):
        total += tl.load(x + k * BLOCK + at)
    tl.store(out + at, total)
