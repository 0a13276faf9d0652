# tests/errors/cases/tuple-arity.py - taking apart a tuple with too few names
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: `tl.max` with return_indices gives two values.
# Fix: Write one name for each value.

import triton
import triton.language as tl


@triton.jit
def bounds(x):
    return tl.min(x, axis=0), tl.max(x, axis=0)


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    low, high, middle = bounds(a)
    tl.store(out + at, a - low)
