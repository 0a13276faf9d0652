# tests/errors/cases/list-comprehension.py - a comprehension inside a kernel
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: A comprehension in a kernel runs over a tuple, whose length is known at compile time.
# Fix: Unroll with tl.static_range, or write the tuple: `for k in (0, 1, 2, 3)`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    parts = [a * k for k in range(4)]
    tl.store(out + at, parts[0])
