# tests/errors/cases/UnclosedBracket.py - kernel files that cause UnclosedBracket, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# unclosed-bracket - a bracket that is never closed
# Why: The statement continues to the end of the file in search of the bracket.
# Fix: Close the bracket: `tl.store(out + at, a)`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, (a

# expect:
# | kernel.py:10:24: error: `(` is never closed [UnclosedBracket]
# |       tl.store(out + at, (a
# |                          ^
# | HINT: add the closing `)`

# -----
# wrong-bracket - a bracket closed by another kind
# Why: Brackets close in the order in which they open, each by its own kind.
# Fix: Write `tl.zeros((BLOCK,), tl.float32)`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    b = tl.zeros((BLOCK,], tl.float32)
    tl.store(out + at, b)

# expect:
# | kernel.py:10:25: error: `]` does not close `(` [UnclosedBracket]
# |       b = tl.zeros((BLOCK,], tl.float32)
# |                           ^
# | HINT: write `)`: the open bracket is in line 10
