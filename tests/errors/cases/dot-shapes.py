# tests/errors/cases/dot-shapes.py - a product of shapes that do not fit
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: The columns of the first operand must be as many as the rows of the second.
# Fix: Transpose one operand with tl.trans, or load it with the indices exchanged.

import triton
import triton.language as tl


# tessera: instance product(a="*fp16:16", b="*fp16:16", out="*fp32:16", M=32, N=32)
@triton.jit
def product(a, b, out, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    p = tl.load(a + i[:, None] * N + j[None, :])
    q = tl.load(b + i[:, None] * N + j[None, :])
    k = tl.arange(0, 64)
    r = tl.load(b + k[:, None] * N + j[None, :])
    c = tl.dot(p, r)
    tl.store(out + i[:, None] * N + j[None, :], c)
