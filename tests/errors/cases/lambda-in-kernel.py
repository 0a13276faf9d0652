# tests/errors/cases/lambda-in-kernel.py - a lambda inside a kernel
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: Functions of a kernel stand at the top level of the file.
# Fix: Write a function with @triton.jit above the kernel.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    double = lambda x: x * 2
    tl.store(out + at, double(a))
