# tests/errors/cases/bad-permutation.py - an order that is no permutation
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: Each dimension must occur once.
# Fix: Write `tl.permute(p, (1, 0))`.

import triton
import triton.language as tl


# tessera: instance product(a="*fp16:16", b="*fp16:16", out="*fp32:16", M=32, N=32)
@triton.jit
def product(a, b, out, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    p = tl.load(a + i[:, None] * N + j[None, :])
    q = tl.load(b + i[:, None] * N + j[None, :])
    r = tl.permute(p, (0, 0))
    tl.store(out + i[:, None] * N + j[None, :], r)
