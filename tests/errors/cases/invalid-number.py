# tests/errors/cases/invalid-number.py - a number that Python does not know
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
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
