# tests/errors/cases/shapes-do-not-broadcast.py - an operation on two shapes
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: Dimensions must be equal, or one of them 1.
# Fix: Make both blocks of one length, or give them different dimensions with None.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    weight = tl.load(x + tl.arange(0, 64))
    tl.store(out + at, a * weight)
