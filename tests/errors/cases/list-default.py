# tests/errors/cases/list-default.py - a list as a default
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: A list of a kernel is fixed: what a call appends to it would be lost, or shared in
#   Python.
# Fix: Leave the parameter out, or take a tuple.

import triton
import triton.language as tl


@triton.jit
def collect(x, parts=[]):
    parts.append(x)
    return x


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, collect(a))
