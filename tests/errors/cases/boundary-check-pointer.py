# tests/errors/cases/boundary-check-pointer.py - boundary_check on plain pointers
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: Plain pointers do not know where the array ends.
# Fix: Use `mask=`.

import triton
import triton.language as tl


# tessera: instance copy(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def copy(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    a = tl.load(x + at, boundary_check=(0,))
    tl.store(out + at, a, mask=at < n)
