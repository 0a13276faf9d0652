# tests/errors/cases/fp8-argument.py - an argument of a type that is not supported
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: 8-bit floats can be named, but not computed with yet.
# Fix: Pass bf16 or fp16.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp8e5:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at), mask=at < n)
