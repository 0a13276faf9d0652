# tests/errors/cases/loop-over-tuple.py - a loop over a tuple
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: A loop counts: it takes range, tl.range or tl.static_range.
# Fix: Write `for k in tl.static_range(3)` and index the tuple with `k`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    for shift in (0, 1, 2):
        a += tl.load(x + at + shift)
    tl.store(out + at, a)
