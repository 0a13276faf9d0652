# tests/errors/cases/math-on-block.py - a function of math on a block
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: The functions of `math` take compile-time numbers.
# Fix: Write `tl.exp(a)`.

import triton
import triton.language as tl

import math


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, math.exp(a))
