# tests/errors/cases/BadSignature.py - kernel files that cause BadSignature, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# fp8-argument - an argument of a type that only memory has
# Why: 8-bit floats are stored and converted; a launch passes numbers as fp32.
# Fix: Pass the number as fp32, or a pointer to 8-bit floats.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", scale="fp8e5", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, scale, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) * scale, mask=at < n)

# expect:
# | kernel.py:7:13: error: argument `scale` has the type `fp8e5`, which kernels cannot compute with [BadSignature]
# |   def rows(x, scale, out, n, BLOCK: tl.constexpr):
# |               ^~~~~
# | HINT: 8-bit floats lie in memory: pass a pointer to them, or the number as fp32
