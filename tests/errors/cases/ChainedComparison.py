# tests/errors/cases/ChainedComparison.py - kernel files that cause ChainedComparison, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# mask-precedence - `&` between comparisons without parentheses
# Why: `&` binds tighter than `<`: Python reads `at < (n & at) >= 4`.
# Fix: Write `(at < n) & (at >= 4)`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, a, mask=at < n & at >= 4)

# expect:
# | kernel.py:10:32: error: this chain of comparisons compares the result of `&` or `|` [ChainedComparison]
# |       tl.store(out + at, a, mask=at < n & at >= 4)
# |                                  ^~~~~~~~~~~~~~~~
# | HINT: `&` binds tighter than a comparison; write (at < n) & (at >= 4)
