# tests/errors/cases/instance-missing.py - an instance that leaves a parameter out
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: An instance says the type or value of every parameter without a default.
# Fix: Add `n="i32"`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at), mask=at < n)
