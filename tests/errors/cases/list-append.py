# tests/errors/cases/list-append.py - collecting blocks in a list
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: A list of a kernel is fixed once written: it has no append.
# Fix: Accumulate into a block, or store each part where it belongs.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    parts = []
    parts.append(a)
    tl.store(out + at, parts[0])
