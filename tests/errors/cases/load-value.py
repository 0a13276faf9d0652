# tests/errors/cases/load-value.py - loading from what is no pointer
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: `n` is passed as a number; only pointer arguments can be loaded from.
# Fix: Use `n` itself.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    count = tl.load(n)
    tl.store(out + at, a, mask=at < count)
