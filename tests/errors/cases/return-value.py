# tests/errors/cases/return-value.py - a kernel that returns a value
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: A kernel runs as many programs at once; nobody takes what one of them returns.
# Fix: Write the result to memory with tl.store.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    return a * 2.0
