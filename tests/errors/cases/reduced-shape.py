# tests/errors/cases/reduced-shape.py - a row maximum taken from the matrix
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: The reduction has one dimension less than the block.
# Fix: Keep the dimension: `tl.max(p, axis=1, keep_dims=True)` or `m[:, None]`.

import triton
import triton.language as tl


# tessera: instance product(a="*fp16:16", b="*fp16:16", out="*fp32:16", M=32, N=64)
@triton.jit
def product(a, b, out, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    p = tl.load(a + i[:, None] * N + j[None, :])
    m = tl.max(p, axis=1)
    tl.store(out + i[:, None] * N + j[None, :], p - m)
