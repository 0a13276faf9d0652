# tests/errors/cases/runtime-shape.py - a shape from an argument of the launch
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: The compiler lays out every block, so its shape must be known before the kernel runs.
# Fix: Use a constexpr `BLOCK` and mask what lies past `n`.

import triton
import triton.language as tl


# tessera: instance copy(x="*fp32:16", out="*fp32:16", n="i32")
@triton.jit
def copy(x, out, n):
    at = tl.arange(0, n)
    tl.store(out + at, tl.load(x + at))
