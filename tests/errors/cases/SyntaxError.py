# tests/errors/cases/SyntaxError.py - kernel files that cause SyntaxError, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# assign-in-condition - `=` where `==` is meant
# Why: `=` assigns, `==` compares.
# Fix: Write `if n == 0:`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    if n = 0:
        tl.store(out + at, a)

# expect:
# | kernel.py:10:10: error: expected `:` after the condition, found `=` [SyntaxError]
# |       if n = 0:
# |            ^
# | HINT: `==` compares; `=` assigns, in a statement of its own

# -----
# c-operators - operators of C
# Why: Masks are joined with `&`, truth values with `and`.
# Fix: Write `(at < n) & (a > 0.0)`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, a, mask=(at < n) && (a > 0.0))

# expect:
# | kernel.py:10:42: error: expected an expression, found `&` [SyntaxError]
# |       tl.store(out + at, a, mask=(at < n) && (a > 0.0))
# |                                            ^
# | HINT: Python writes `and`; masks are joined with one `&`

# -----
# else-alone - an `else` without an `if`
# Why: `else` stands at the depth of its `if`.
# Fix: Line it up with its `if`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    a += 1.0
    else:
        a += 2.0
    tl.store(out + at, a)

# expect:
# | kernel.py:11:5: error: `else` that belongs to no statement [SyntaxError]
# |       else:
# |       ^~~~
# | HINT: line it up with its `if`

# -----
# increment - `++`
# Why: Python has no `++`.
# Fix: Write `count += 1`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    count = n + 0
    count++
    tl.store(out + at, a * count)

# expect:
# | kernel.py:11:12: error: expected an expression, found the end of the line [SyntaxError]
# |       count++
# |              ^
# | HINT: write `+= 1`

# -----
# missing-colon - a line that opens a block without its colon
# Why: As in Python, `if`, `for` and `def` end with a colon.
# Fix: Write `if n > 0:`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    if n > 0
        tl.store(out + at, a)

# expect:
# | kernel.py:10:13: error: expected `:` after the condition, found the end of the line [SyntaxError]
# |       if n > 0
# |               ^
# | HINT: end the line with `:`

# -----
# missing-comma - two arguments without a comma
# Why: Arguments are separated by commas.
# Fix: Write `tl.load(x + at, mask=at < n)`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    b = tl.load(x + at mask=at < n)
    tl.store(out + at, a + b)

# expect:
# | kernel.py:10:24: error: expected `)` after the arguments of the call, found `mask` [SyntaxError]
# |       b = tl.load(x + at mask=at < n)
# |                          ^~~~
# | HINT: is a comma missing before `mask`?

# -----
# positional-after-keyword - an argument by place after one by name
# Why: As in Python, arguments by name come last.
# Fix: Write `tl.store(out + at, a, mask=at < n)`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, value=a, at < n)

# expect:
# | kernel.py:10:33: error: a positional argument after a keyword argument [SyntaxError]
# |       tl.store(out + at, value=a, at < n)
# |                                   ^~
# | HINT: give it a keyword, or move it to the front
