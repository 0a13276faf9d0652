# tests/errors/cases/missing-body.py - a block without a body
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: After a colon, at least one statement must follow, further to the right.
# Fix: Indent the body.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    if n > 0:
    tl.store(out + at, a)
