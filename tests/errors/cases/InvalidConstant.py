# tests/errors/cases/InvalidConstant.py - kernel files that cause InvalidConstant, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# changed-constant - a module constant that is changed
# Why: Constants of a file are assigned once, so that what a kernel is compiled with is never in
#   doubt.
# Fix: Write `SCALE = 6.0`, or use a second name.

import triton
import triton.language as tl

SCALE = 2.0
SCALE *= 3.0


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, a * SCALE)

# expect:
# | kernel.py:5:1: error: a module constant is changed [InvalidConstant]
# |   SCALE *= 3.0
# |   ^~~~~~~~~~~~
# | HINT: assign it once, with its final value, or give the new value another name
