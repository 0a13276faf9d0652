# tests/errors/cases/matmul-operator.py - `@` between blocks
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: The matrix product has options and is written as a function.
# Fix: Write `tl.dot(p, q)`.

import triton
import triton.language as tl


# tessera: instance product(a="*fp16:16", b="*fp16:16", out="*fp32:16", M=32, N=32)
@triton.jit
def product(a, b, out, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    p = tl.load(a + i[:, None] * N + j[None, :])
    q = tl.load(b + i[:, None] * N + j[None, :])
    c = p @ q
    tl.store(out + i[:, None] * N + j[None, :], c)
