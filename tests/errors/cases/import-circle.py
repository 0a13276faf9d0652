# tests/errors/cases/import-circle.py - two files that import from each other
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: The name leads from one file to the other and back without ever being defined.
# Fix: Define the function in one of the files.

import triton
import triton.language as tl

from .circle import swish


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, swish(a))
