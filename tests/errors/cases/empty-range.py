# tests/errors/cases/empty-range.py - an arange whose end lies before its start
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: tl.arange(start, end) counts upwards and holds at least one number.
# Fix: Write `tl.arange(0, BLOCK)`.

import triton
import triton.language as tl


# tessera: instance copy(x="*fp32:16", out="*fp32:16", BLOCK=128)
@triton.jit
def copy(x, out, BLOCK: tl.constexpr):
    at = tl.arange(BLOCK, 0)
    tl.store(out + at, tl.load(x + at))
