# tests/errors/cases/helper-arguments.py - a helper called with too many arguments
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: The helper has two parameters and the call has three arguments.
# Fix: Pass as many arguments as the function has parameters.

import triton
import triton.language as tl


@triton.jit
def blend(x, y):
    return (x + y) * 0.5


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, blend(a, a, 0.5))
