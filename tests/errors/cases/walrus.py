# tests/errors/cases/walrus.py - `:=` in an expression
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: Assignments are statements of their own.
# Fix: Assign first.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    if (total := n + 1) > 3:
        tl.store(out + at, a * total)
