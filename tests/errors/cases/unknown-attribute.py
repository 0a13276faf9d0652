# tests/errors/cases/unknown-attribute.py - an attribute that blocks do not have
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: A block has `dtype`, `shape`, `T` and the methods of the page of builtins.
# Fix: Write `a.shape`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    b = tl.zeros(a.size, a.dtype)
    tl.store(out + at, b)
