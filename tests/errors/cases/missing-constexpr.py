# tests/errors/cases/missing-constexpr.py - a block size that is not annotated
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: A parameter without an annotation is known at run time only.
# Fix: Annotate it: `BLOCK: tl.constexpr`.

import triton
import triton.language as tl


# tessera: instance copy(x="*fp32:16", out="*fp32:16", BLOCK="i32")
@triton.jit
def copy(x, out, BLOCK):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at))
