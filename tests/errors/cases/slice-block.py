# tests/errors/cases/slice-block.py - taking a slice of a block
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: A part of a block would have another shape at run time; blocks are indexed with None and
#   `:` only.
# Fix: Load the part that is wanted: `tl.load(x + tl.arange(0, 64))`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    half = a[0:64]
    tl.store(out + tl.arange(0, 64), half)
