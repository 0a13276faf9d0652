# tests/errors/cases/static-assert.py - a compile-time assertion that does not hold
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: The kernel says that it is not made for this specialization.
# Fix: Choose a BLOCK that the kernel is made for.

import triton
import triton.language as tl


# tessera: instance copy(x="*fp32:16", out="*fp32:16", BLOCK=8)
@triton.jit
def copy(x, out, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK >= 16, "BLOCK must be at least 16")
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at))
