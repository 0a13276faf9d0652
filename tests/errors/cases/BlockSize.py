# tests/errors/cases/BlockSize.py - kernel files that cause BlockSize, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# tile-too-large - a block of too many elements
# Why: A program holds its blocks in registers and fast memory: 1,048,576 elements is the limit.
# Fix: Loop over smaller blocks, or start more programs.

import triton
import triton.language as tl


# tessera: instance clear(out="*fp32:16", N=4096)
@triton.jit
def clear(out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i[:, None] * N + i[None, :], tl.zeros((N, N), tl.float32))

# expect:
# | kernel.py:9:14: error: a block of shape [4096, 4096] has more than 1048576 elements [BlockSize]
# |       tl.store(out + i[:, None] * N + i[None, :], tl.zeros((N, N), tl.float32))
# |                ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# | HINT: use smaller blocks and a loop, or more programs
