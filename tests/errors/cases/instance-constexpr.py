# tests/errors/cases/instance-constexpr.py - an instance that gives a constexpr a type
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: A constexpr has a value, not a type.
# Fix: Write `BLOCK=128`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK="i32")
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at), mask=at < n)
