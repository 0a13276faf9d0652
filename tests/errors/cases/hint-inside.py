# tests/errors/cases/hint-inside.py - a hint inside a function
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: Hints belong to the function below them.
# Fix: Move the comment above `@triton.jit`.

import triton
import triton.language as tl


@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    # tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at), mask=at < n)
