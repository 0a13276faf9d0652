# tests/errors/cases/index-block.py - taking one element of a block
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: The elements of a block lie spread over registers: there is no cheap way to pick one by a
#   number.
# Fix: Load the element from memory: `tl.load(x)`; or reduce: `tl.sum(tl.where(at == 0, a,
#   0.0))`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    first = a[0]
    tl.store(out + at, a - first)
