# tests/errors/cases/exp-of-integer.py - a function of floats given integers
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: exp, log, sqrt and their kin are defined for float32 and float64.
# Fix: Convert: `tl.exp(at.to(tl.float32))`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, tl.exp(at))
