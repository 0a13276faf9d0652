# tests/errors/cases/other-without-mask.py - `other` without a mask
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: `other` is what masked-out elements read as; without a mask there are none.
# Fix: Add the mask: `tl.load(x + at, mask=at < n, other=0.0)`.

import triton
import triton.language as tl


# tessera: instance copy(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def copy(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    a = tl.load(x + at, other=0.0)
    tl.store(out + at, a, mask=at < n)
