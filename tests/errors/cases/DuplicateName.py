# tests/errors/cases/DuplicateName.py - kernel files that cause DuplicateName, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# duplicate-function - two functions of one name
# Why: The second would hide the first.
# Fix: Rename or remove one of them.

import triton
import triton.language as tl


@triton.jit
def scale(x):
    return x * 2.0


@triton.jit
def scale(x):
    return x * 3.0


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, scale(a))

# expect:
# | kernel.py:11:5: error: `scale` is defined twice [DuplicateName]
# |   def scale(x):
# |       ^~~~~
# | HINT: rename or remove one of the functions
