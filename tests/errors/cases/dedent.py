# tests/errors/cases/dedent.py - a line that lines up with nothing
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: Every line stands at the depth of a line above it.
# Fix: Line it up with the `if`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    if n > 0:
        a += 1.0
      a += 2.0
    tl.store(out + at, a)
