# tests/errors/cases/StaticAssert.py - kernel files that cause StaticAssert, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# static-assert - a compile-time assertion that does not hold
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

# expect:
# | kernel.py:8:22: error: static assertion failed: BLOCK must be at least 16 [StaticAssert]
# |       tl.static_assert(BLOCK >= 16, "BLOCK must be at least 16")
# |                        ^~~~~~~~~~~
