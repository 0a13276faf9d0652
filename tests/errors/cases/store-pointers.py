# tests/errors/cases/store-pointers.py - storing addresses instead of values
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: The second argument of tl.store is what is written; here it is a block of pointers.
# Fix: Load first: `tl.store(out + at, tl.load(x + at))`.

import triton
import triton.language as tl


# tessera: instance copy(x="*fp32:16", out="*fp32:16", BLOCK=128)
@triton.jit
def copy(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, x + at)
