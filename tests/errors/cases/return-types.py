# tests/errors/cases/return-types.py - a helper that returns two types
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: A helper is compiled into its caller, where its value has one type.
# Fix: Return `0.0` on the second path.

import triton
import triton.language as tl


@triton.jit
def weight(n):
    if n > 1000:
        return 0.5
    return 0


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, a * weight(n))
