# tests/errors/cases/IntegerRange.py - kernel files that cause IntegerRange, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# integer-too-large - a number that does not fit the type beside it
# Why: `at` counts in int32, which ends at 2147483647.
# Fix: Widen first: `at.to(tl.int64) + 5000000000`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + (at + 5000000000), a)

# expect:
# | kernel.py:10:21: error: 5000000000 does not fit int32, which ends at 2147483647 [IntegerRange]
# |       tl.store(out + (at + 5000000000), a)
# |                       ^~~~~~~~~~~~~~~
# | HINT: widen the other operand first, as with .to(tl.int64)
