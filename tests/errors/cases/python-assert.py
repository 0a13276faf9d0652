# tests/errors/cases/python-assert.py - Python's assert in a kernel
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: An exception cannot leave a kernel.
# Fix: Write `tl.static_assert(BLOCK >= 16)` for what is known at compile time,
#   `tl.device_assert` else.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    assert BLOCK >= 16
    tl.store(out + at, a)
