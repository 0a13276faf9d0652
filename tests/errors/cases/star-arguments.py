# tests/errors/cases/star-arguments.py - a variable number of parameters
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: Every parameter of a kernel has a name, so that its type is known.
# Fix: Name every parameter.

import triton
import triton.language as tl


@triton.jit
def total(*parts):
    return parts[0] + parts[1]


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, total(a, a))
