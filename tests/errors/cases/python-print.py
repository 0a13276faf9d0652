# tests/errors/cases/python-print.py - Python's print in a kernel
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: `print` would write to Python's standard output, which a compiled kernel does not have.
# Fix: Write `tl.device_print("a", a)`, or tl.static_print for compile-time values.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    print("a is", a)
    tl.store(out + at, a)
