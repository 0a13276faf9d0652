# tests/errors/cases/unpack-block.py - taking apart what is no tuple
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: tl.load gives one block, however many rows it has.
# Fix: Load twice, or use tl.split on a last dimension of size 2.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    low, high = tl.load(x + at)
    tl.store(out + at, low)
