# tests/errors/cases/positional-after-keyword.py - an argument by place after one by name
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: As in Python, arguments by name come last.
# Fix: Write `tl.store(out + at, a, mask=at < n)`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, value=a, at < n)
