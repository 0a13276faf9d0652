# tests/errors/cases/int8-atomic.py - an atomic operation on bytes
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: Atomic operations exist for 32 and 64 bits, and adding for 16-bit floats.
# Fix: Count in int32.

import triton
import triton.language as tl


# tessera: instance count(x="*i8:16", out="*i8:16", BLOCK=128)
@triton.jit
def count(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.atomic_add(out + at, tl.load(x + at))
