# tests/errors/cases/ConstantArithmetic.py - kernel files that cause ConstantArithmetic, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# division-by-zero - a compile-time division by zero
# Why: The value is computed while the kernel is compiled.
# Fix: Check `GROUP` in the instance or configuration.

import triton
import triton.language as tl


# tessera: instance copy(x="*fp32:16", out="*fp32:16", BLOCK=128, GROUP=0)
@triton.jit
def copy(x, out, BLOCK: tl.constexpr, GROUP: tl.constexpr):
    at = tl.arange(0, BLOCK // GROUP)
    tl.store(out + at, tl.load(x + at))

# expect:
# | kernel.py:8:23: error: division by zero [ConstantArithmetic]
# |       at = tl.arange(0, BLOCK // GROUP)
# |                         ^~~~~~~~~~~~~~
# | HINT: both sides are known at compile time: BLOCK is 128, GROUP is 0
