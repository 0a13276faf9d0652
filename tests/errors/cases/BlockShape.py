# tests/errors/cases/BlockShape.py - kernel files that cause BlockShape, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# not-power-of-two - a block whose size is not a power of two
# Why: Blocks are spread over the lanes of vectors and threads, which come in powers of two.
# Fix: Use 128 and a mask for the elements past 100.

import triton
import triton.language as tl


# tessera: instance copy(x="*fp32:16", out="*fp32:16", BLOCK=100)
@triton.jit
def copy(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at))

# expect:
# | kernel.py:8:10: error: block dimensions must be powers of two, got [100] [BlockShape]
# |       at = tl.arange(0, BLOCK)
# |            ^~~~~~~~~~~~~~~~~~~
# | HINT: use 128 and a mask for the elements past 100

# -----
# shape-not-power-of-two - a block of zeros of an odd shape
# Why: Every dimension of a block is a power of two.
# Fix: Use `tl.zeros((4, 8), tl.float32)`.

import triton
import triton.language as tl


# tessera: instance clear(out="*fp32:16")
@triton.jit
def clear(out):
    tile = tl.zeros((3, 5), tl.float32)
    tl.store(out, tl.sum(tile))

# expect:
# | kernel.py:8:21: error: block dimensions must be powers of two, got [3, 5] [BlockShape]
# |       tile = tl.zeros((3, 5), tl.float32)
# |                       ^~~~~~
# | HINT: use 4 and a mask for the elements past 3
