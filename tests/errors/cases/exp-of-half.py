# tests/errors/cases/exp-of-half.py - a function of float32 given float16
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: As under Triton, exp and its kin do not take 16-bit floats.
# Fix: Convert: `tl.exp(a.to(tl.float32))`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp16:16", out="*fp32:16", BLOCK=128)
@triton.jit
def rows(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.exp(tl.load(x + at)))
