# tests/errors/cases/StaticPrint.py - kernel files that cause StaticPrint, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# static-print - what tl.static_print says
# Why: No mistake: tl.static_print shows types and compile-time values while compiling.
# Fix: Remove it when the answer is known.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.static_print("a is", a, "and BLOCK", BLOCK)
    tl.store(out + at, a)

# expect:
# | kernel.py:10:5: note: a is fp32[128] and BLOCK 128 [StaticPrint]
# |       tl.static_print("a is", a, "and BLOCK", BLOCK)
# |       ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
