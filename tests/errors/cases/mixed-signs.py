# tests/errors/cases/mixed-signs.py - dividing a signed by an unsigned integer
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: It is not clear which sign the result has.
# Fix: Convert one operand: `w.to(tl.int32) // at`.

import triton
import triton.language as tl


# tessera: instance pick(x="*u32:16", out="*i32:16", BLOCK=128)
@triton.jit
def pick(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    w = tl.load(x + at)
    tl.store(out + at, w // (at + 1))
