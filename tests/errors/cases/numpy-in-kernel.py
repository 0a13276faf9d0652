# tests/errors/cases/numpy-in-kernel.py - a function of numpy inside a kernel
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: Only `tl` and `math` have functions that a kernel can call.
# Fix: Write `tl.arange(0, BLOCK)`.

import triton
import triton.language as tl

import numpy as np


# tessera: instance fill(out="*i32:16", BLOCK=128)
@triton.jit
def fill(out, BLOCK: tl.constexpr):
    at = np.arange(BLOCK)
    tl.store(out + at, at)
