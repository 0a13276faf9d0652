# tests/errors/cases/instance-unknown.py - an instance with a name that is no parameter
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: The kernel has no parameter of this name.
# Fix: Write `BLOCK`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at), mask=at < n)
