# tests/errors/cases/unroll-too-far.py - unrolling a long loop
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: tl.static_range writes the body out once for each round.
# Fix: Use `range`, which compiles the body once.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    for k in tl.static_range(100000):
        a += 1.0
    tl.store(out + at, a)
