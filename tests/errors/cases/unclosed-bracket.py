# tests/errors/cases/unclosed-bracket.py - a bracket that is never closed
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: The statement goes on to the end of the file in search of the bracket.
# Fix: Close the bracket: `tl.store(out + at, a)`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, (a
