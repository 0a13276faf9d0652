# tests/errors/cases/autotune-keyword.py - a misspelt keyword of a decorator
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: triton.autotune has no argument of this name.
# Fix: Write `configs=`.

import triton
import triton.language as tl


@triton.autotune(confgs=[triton.Config({"BLOCK": 128})], key=["n"])
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at), mask=at < n)
