# tests/errors/cases/loop-over-block.py - a loop over the elements of a block
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: A block is computed as a whole; a loop counts.
# Fix: Compute with the whole block: `total = tl.sum(a, axis=0)`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    total = 0.0
    for value in a:
        total += value
    tl.store(out, total)
