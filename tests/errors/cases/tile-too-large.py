# tests/errors/cases/tile-too-large.py - a block of too many elements
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: A program holds its blocks in registers and fast memory: 1,048,576 elements is the limit.
# Fix: Loop over smaller blocks, or start more programs.

import triton
import triton.language as tl


# tessera: instance clear(out="*fp32:16", N=4096)
@triton.jit
def clear(out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i[:, None] * N + i[None, :], tl.zeros((N, N), tl.float32))
