# tests/errors/cases/constexpr-of-runtime.py - annotating a run-time value as a constexpr
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: What tl.load gives is known while the kernel runs.
# Fix: Leave the annotation out.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    first: tl.constexpr = tl.load(x)
    tl.store(out + at, a - first)
