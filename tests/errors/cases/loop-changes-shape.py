# tests/errors/cases/loop-changes-shape.py - an accumulator that grows in a loop
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: A loop is compiled once for all rounds, so what it carries has one shape: `total` begins
#   as one number.
# Fix: Begin with `total = tl.zeros((BLOCK,), tl.float32)`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    total = 0.0
    for k in range(n):
        total += tl.load(x + k * BLOCK + at)
    tl.store(out + at, total)
