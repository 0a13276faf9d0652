# tests/errors/cases/TooManyArguments.py - kernel files that cause TooManyArguments, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# helper-arguments - a helper called with too many arguments
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

# expect:
# | kernel.py:15:36: error: `blend` takes 2 arguments, got 3 [TooManyArguments]
# |       tl.store(out + at, blend(a, a, 0.5))
# |                                      ^~~
# | HINT: it is blend(x, y)
