# tests/errors/cases/python-sorted.py - a function of Python that kernels do not have
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: Python's functions work on lists; a block is reduced by the functions of `tl`.
# Fix: Sort the data before the launch.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    b = sorted(a)
    tl.store(out + at, b)
