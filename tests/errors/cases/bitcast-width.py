# tests/errors/cases/bitcast-width.py - reinterpreting bits of another width
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: A bit cast keeps every bit, so both types have one width.
# Fix: Use `tl.int32`, or convert the value with .to().

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    b = a.to(tl.int16, bitcast=True)
    tl.store(out + at, b)
