# tests/errors/cases/assign-element.py - assigning to an element of a block
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: A block is a value, like a number: it has no places to write to.
# Fix: Choose elementwise with tl.where.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    a[0] = 1.0
    tl.store(out + at, a)
