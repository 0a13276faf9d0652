# tests/errors/cases/instance-type.py - an instance with a type that does not exist
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: Types of arguments are written as in Triton's signatures: *fp32, bf16, i32.
# Fix: Write `*fp32`.

import triton
import triton.language as tl


# tessera: instance rows(x="*float32", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at), mask=at < n)
