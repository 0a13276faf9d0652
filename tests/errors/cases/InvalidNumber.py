# tests/errors/cases/InvalidNumber.py - kernel files that cause InvalidNumber, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# invalid-number - a number that Python does not know
# Why: A number must not begin with 0; octal numbers are written 0o17.
# Fix: Write `16`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at + 016, a)

# expect:
# | kernel.py:10:28: error: a decimal number that starts with 0 [InvalidNumber]
# |       tl.store(out + at + 016, a)
# |                              ^
# | HINT: drop the zeros, or write 0o for an octal number
