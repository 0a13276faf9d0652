# tests/errors/cases/not-power-of-two.py - a block whose size is no power of two
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: Blocks are spread over the lanes of vectors and threads, which come in powers of two.
# Fix: Use 128 and a mask for the elements past 100.

import triton
import triton.language as tl


# tessera: instance copy(x="*fp32:16", out="*fp32:16", BLOCK=100)
@triton.jit
def copy(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at))
