# tests/errors/cases/kernel-in-kernel.py - launching a kernel from a kernel
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: Only the host launches; a kernel calls helpers.
# Fix: Call it as a function: `double(a, 2.0)`.

import triton
import triton.language as tl


@triton.jit
def double(x, by):
    return x * by


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, double[(1,)](a, 2.0))
