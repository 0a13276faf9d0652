# tests/errors/cases/DuplicateArgument.py - kernel files that cause DuplicateArgument, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# argument-twice - an argument that is given twice
# Why: By its place and by its name.
# Fix: Remove one of the two.

import triton
import triton.language as tl


@triton.jit
def scaled(x, by=2.0):
    return x * by


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, scaled(a, 3.0, by=4.0))

# expect:
# | kernel.py:15:39: error: `by` is given twice [DuplicateArgument]
# |       tl.store(out + at, scaled(a, 3.0, by=4.0))
# |                                         ^~~~~~
# | HINT: its place gave it a value already: it is scaled(x, by=...)
