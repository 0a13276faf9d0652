# tests/errors/cases/call-number.py - calling a number
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: `n` is an argument of the kernel, not a function.
# Fix: Did an operator get lost? Write `n * (at + 1)`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + n (at + 1), a)
