# tests/errors/cases/forgotten-load.py - computing with a pointer
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: `x + at` are addresses; the values there have to be loaded.
# Fix: Write `tl.load(x + at) * 2.0`.

import triton
import triton.language as tl


# tessera: instance double(x="*fp32:16", out="*fp32:16", BLOCK=128)
@triton.jit
def double(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, (x + at) * 2.0)
