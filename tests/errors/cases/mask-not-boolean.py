# tests/errors/cases/mask-not-boolean.py - a mask that is no truth value
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: A mask says for each element whether it is read; numbers do not.
# Fix: Compare: `mask=at < n`.

import triton
import triton.language as tl


# tessera: instance copy(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def copy(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    a = tl.load(x + at, mask=n)
    tl.store(out + at, a)
