# tests/errors/cases/MixedSigns.py - kernel files that cause MixedSigns, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# mixed-signs - dividing a signed by an unsigned integer
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

# expect:
# | kernel.py:10:24: error: cannot divide uint32 and int32: one is signed, the other is not [MixedSigns]
# |       tl.store(out + at, w // (at + 1))
# |                          ^~~~~~~~~~~~~
# | HINT: convert one so that the signs agree: w.to(...)
