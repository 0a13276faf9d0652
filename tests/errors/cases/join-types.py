# tests/errors/cases/join-types.py - joining blocks of two types
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: The result is one block and has one type.
# Fix: Convert: `tl.join(a, at.to(tl.float32))`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    both = tl.join(a, at)
    tl.store(out, tl.sum(both))
