# tests/errors/cases/wrong-bracket.py - a bracket closed by another kind
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: Brackets close in the order in which they open, each by its own kind.
# Fix: Write `tl.zeros((BLOCK,), tl.float32)`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    b = tl.zeros((BLOCK,], tl.float32)
    tl.store(out + at, b)
