# tests/errors/cases/dot-accumulator.py - an accumulator of another type than the product
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: The product of float16 matrices is accumulated in float32.
# Fix: Start with `tl.zeros((M, N), tl.float32)`.

import triton
import triton.language as tl


# tessera: instance product(a="*fp16:16", b="*fp16:16", out="*fp32:16", M=32, N=32)
@triton.jit
def product(a, b, out, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    p = tl.load(a + i[:, None] * N + j[None, :])
    q = tl.load(b + i[:, None] * N + j[None, :])
    acc = tl.zeros((M, N), tl.float16)
    acc = tl.dot(p, q, acc)
    tl.store(out + i[:, None] * N + j[None, :], acc)
