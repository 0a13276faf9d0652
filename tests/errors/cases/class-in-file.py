# tests/errors/cases/class-in-file.py - a class in a kernel file
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: Of a kernel file only imports, constants and kernel functions are read; other code may stand there,
#   but kernels do not see it.
# Fix: Pass the values as arguments.

import triton
import triton.language as tl

class Config:
    scale = 2.0


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, a * Config.scale)
