# tests/errors/cases/import-in-function.py - an import inside a kernel
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: Imports stand at the top of the file.
# Fix: Move it to the top.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    import math

    tl.store(out + at, a * math.pi)
