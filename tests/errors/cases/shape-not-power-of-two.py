# tests/errors/cases/shape-not-power-of-two.py - a block of zeros of an odd shape
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: Every dimension of a block is a power of two.
# Fix: Use `tl.zeros((4, 8), tl.float32)`.

import triton
import triton.language as tl


# tessera: instance clear(out="*fp32:16")
@triton.jit
def clear(out):
    tile = tl.zeros((3, 5), tl.float32)
    tl.store(out, tl.sum(tile))
