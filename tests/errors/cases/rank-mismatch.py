# tests/errors/cases/rank-mismatch.py - storing a row where a matrix is meant
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: The value is a block of rank 2, the pointers are of rank 1.
# Fix: Build the pointers with both indices: `out + i[:, None] * N + j[None, :]`.

import triton
import triton.language as tl


# tessera: instance product(a="*fp16:16", b="*fp16:16", out="*fp32:16", M=32, N=32)
@triton.jit
def product(a, b, out, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    p = tl.load(a + i[:, None] * N + j[None, :])
    q = tl.load(b + i[:, None] * N + j[None, :])
    tl.store(out + j, p + q)
