# tests/errors/cases/UnknownKeyword.py - kernel files that cause UnknownKeyword, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# unknown-keyword - a misspelt keyword
# Why: tl.load has no argument of this name.
# Fix: Write `mask=`.

import triton
import triton.language as tl


# tessera: instance copy(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def copy(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    a = tl.load(x + at, maks=at < n)
    tl.store(out + at, a, mask=at < n)

# expect:
# | kernel.py:9:25: error: tl.load has no argument `maks` [UnknownKeyword]
# |       a = tl.load(x + at, maks=at < n)
# |                           ^~~~~~~~~~~
# | HINT: did you mean `mask`?
