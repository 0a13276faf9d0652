# tests/errors/cases/arange-one-argument.py - tl.arange with one argument
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: Unlike Python's range, tl.arange wants both ends.
# Fix: Write `tl.arange(0, BLOCK)`.

import triton
import triton.language as tl


# tessera: instance copy(x="*fp32:16", out="*fp32:16", BLOCK=128)
@triton.jit
def copy(x, out, BLOCK: tl.constexpr):
    at = tl.arange(BLOCK)
    tl.store(out + at, tl.load(x + at))
