# tests/errors/cases/missing-return.py - using what a helper without `return` gives
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: A function without `return` gives None.
# Fix: Add `return y` to the helper.

import triton
import triton.language as tl


@triton.jit
def double(x):
    y = x * 2.0


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, double(a) + 1.0)
