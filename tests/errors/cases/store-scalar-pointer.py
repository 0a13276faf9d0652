# tests/errors/cases/store-scalar-pointer.py - storing a block through one pointer
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: One address takes one value.
# Fix: Add the offsets: `out + at`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out, a)
