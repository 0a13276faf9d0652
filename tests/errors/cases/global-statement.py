# tests/errors/cases/global-statement.py - a global variable
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: A kernel has no variables that outlive it.
# Fix: Write the result to memory with tl.store.

import triton
import triton.language as tl

COUNT = 0


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    global COUNT
    COUNT = COUNT + 1
    tl.store(out + at, a)
