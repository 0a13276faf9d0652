# tests/errors/cases/UnknownConstant.py - kernel files that cause UnknownConstant, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# unknown-constant - a module constant made of an unknown name
# Why: A constant of the file is evaluated when it is used, with the names of the file.
# Fix: Define `WIDTH` above it.

import triton
import triton.language as tl

BLOCKS = 2 * WIDTH


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, a * BLOCKS)

# expect:
# | kernel.py:4:14: error: the name `WIDTH` has no value at compile time [UnknownConstant]
# |   BLOCKS = 2 * WIDTH
# |                ^~~~~
# | HINT: define it in the file, or write its value
