# tests/errors/cases/unknown-name.py - a misspelt variable
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: A name must be assigned in the function, be a parameter, or stand at the top of the file.
# Fix: Write the name as it was assigned: `mask`.

import triton
import triton.language as tl


# tessera: instance add(x="*fp32:16", y="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    a = tl.load(x + at, mask=mask)
    tl.store(out + at, a, mask=maks)
