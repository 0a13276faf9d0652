# tests/errors/cases/else-alone.py - an `else` without an `if`
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: `else` stands at the depth of its `if`.
# Fix: Line it up with its `if`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    a += 1.0
    else:
        a += 2.0
    tl.store(out + at, a)
