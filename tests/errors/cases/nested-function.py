# tests/errors/cases/nested-function.py - a function inside a kernel
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: Functions stand at the top level of the file.
# Fix: Move `double` above the kernel and decorate it with @triton.jit.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    def double(x):
        return x * 2

    tl.store(out + at, double(a))
