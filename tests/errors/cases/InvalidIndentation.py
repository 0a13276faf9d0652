# tests/errors/cases/InvalidIndentation.py - kernel files that cause InvalidIndentation, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# dedent - a line that lines up with nothing
# Why: Every line stands at the depth of a line above it.
# Fix: Line it up with the `if`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    if n > 0:
        a += 1.0
      a += 2.0
    tl.store(out + at, a)

# expect:
# | kernel.py:12:1: error: the indentation matches no outer block [InvalidIndentation]
# |         a += 2.0
# |   ^~~~~~
# | HINT: line it up with the block it belongs to

# -----
# indentation - a line that is indented too far
# Why: Deeper indentation only follows a line that ends with a colon.
# Fix: Line it up with the line above.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
      tl.store(out + at, a)

# expect:
# | kernel.py:10:1: error: expected a statement, found a deeper indentation [InvalidIndentation]
# |         tl.store(out + at, a)
# |   ^~~~~~
# | HINT: line the code up with the line above

# -----
# missing-body - a block without a body
# Why: After a colon, at least one statement must follow, further to the right.
# Fix: Indent the body.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    if n > 0:
    tl.store(out + at, a)

# expect:
# | kernel.py:11:5: error: expected an indented block after the condition [InvalidIndentation]
# |       tl.store(out + at, a)
# |       ^~
# | HINT: indent the body, or write `pass`

# -----
# tabs-and-spaces - tabs and spaces mixed in the indentation
# Why: How wide a tab is depends on the editor, so Python does not accept the mixture either.
# Fix: Indent with four spaces everywhere.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    if n > 0:
	tl.store(out + at, a)

# expect:
# | kernel.py:11:1: error: tabs and spaces are mixed in the indentation [InvalidIndentation]
# |   	tl.store(out + at, a)
# |   ^
# | HINT: indent with spaces only
