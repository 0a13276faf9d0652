# tests/errors/cases/unread-statement.py - a constant of a statement that is not read
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: Statements around kernels may hold any Python. What the compiler does not evaluate is skipped until a
#   kernel needs a name of it.
# Fix: Write `WIDTHS = [16, 32]`.

import triton
import triton.language as tl

WIDTHS = {16 * factor for factor in (1, 2)}


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, a * len(WIDTHS))
