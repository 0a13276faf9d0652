# tests/errors/cases/division-by-zero.py - a compile-time division by zero
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: The value is computed while the kernel is compiled.
# Fix: Check `GROUP` in the instance or configuration.

import triton
import triton.language as tl


# tessera: instance copy(x="*fp32:16", out="*fp32:16", BLOCK=128, GROUP=0)
@triton.jit
def copy(x, out, BLOCK: tl.constexpr, GROUP: tl.constexpr):
    at = tl.arange(0, BLOCK // GROUP)
    tl.store(out + at, tl.load(x + at))
