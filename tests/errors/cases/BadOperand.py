# tests/errors/cases/BadOperand.py - kernel files that cause BadOperand, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# and-on-blocks - `and` between blocks that are no booleans
# Why: `and` and `or` join truth values.
# Fix: Compare first: `(at < n) & (a != 0.0)`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, a, mask=(at < n) and a)

# expect:
# | kernel.py:10:45: error: `and` needs booleans, got fp32[128] [BadOperand]
# |       tl.store(out + at, a, mask=(at < n) and a)
# |                                               ^
# | HINT: compare with 0 first; blocks are joined with & and |, each side in parentheses

# -----
# aggregates-joined - `+` between the objects of an aggregate
# Why: An aggregate is not a tuple; it has no operators.
# Fix: Add the fields, `Line(a.slope + b.slope, ...)`.

import triton
import triton.language as tl


@triton.aggregate
class Line:
    slope: tl.tensor
    offset: tl.tensor


# tessera: instance rows(x="*fp32:16", out="*fp32:16", BLOCK=128)
@triton.jit
def rows(x, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    line = Line(tl.load(x + at), at)
    both = line + line
    tl.store(out + at, both[0])

# expect:
# | kernel.py:16:12: error: `+` is not defined between aggregate Line and aggregate Line [BadOperand]
# |       both = line + line
# |              ^~~~~~~~~~~
# | HINT: name a field of the aggregate: value.field

# -----
# bitcast-width - reinterpreting bits of another width
# Why: A bit cast keeps every bit, so both types have one width.
# Fix: Use `tl.int32`, or convert the value with .to().

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    b = a.to(tl.int16, bitcast=True)
    tl.store(out + at, b)

# expect:
# | kernel.py:10:9: error: cannot bitcast fp32 (32 bits) to int16 (16 bits) [BadOperand]
# |       b = a.to(tl.int16, bitcast=True)
# |           ^~~~~~~~~~~~~~~~~~~~~~~~~~~~
# | HINT: a bit cast keeps every bit: use a type of 32 bits, or convert the value without bitcast=True

# -----
# bits-of-floats - a bit operation on floats
# Why: `&`, `|`, `^`, `<<` and `>>` work on integers.
# Fix: For masks, compare first: `(a > 0.0) & (at < n)`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, a, mask=a & (at < n))

# expect:
# | kernel.py:10:32: error: `&` needs integers, got fp32[128] and int1[128] [BadOperand]
# |       tl.store(out + at, a, mask=a & (at < n))
# |                                  ^~~~~~~~~~~~
# | HINT: compare first: (a != 0)

# -----
# floor-division-of-floats - `//` between floats
# Why: Whole division is for integers.
# Fix: Write `tl.floor(a / 2.0)`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, a // 2.0)

# expect:
# | kernel.py:10:24: error: `//` needs integers, got fp32[128] [BadOperand]
# |       tl.store(out + at, a // 2.0)
# |                          ^~~~~~~~
# | HINT: write tl.floor(a / 2.0)

# -----
# instance-constexpr - an instance that gives a constexpr a type
# Why: A constexpr has a value, not a type.
# Fix: Write `BLOCK=128`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK="i32")
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at), mask=at < n)

# expect:
# | kernel.py:8:10: error: an operand of `*` must be a number or a block, got the text 'i32' [BadOperand]
# |       at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
# |            ^~~~~~~~~~~~~~~~~~~~~~~~
# | HINT: a text is not a number: a constexpr takes a value, as in N=64

# -----
# kernel-in-kernel - launching a kernel from a kernel
# Why: Only the host launches; a kernel calls helpers.
# Fix: Call it as a function: `double(a, 2.0)`.

import triton
import triton.language as tl


@triton.jit
def double(x, by):
    return x * by


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, double[(1,)](a, 2.0))

# expect:
# | kernel.py:15:24: error: function double cannot be indexed [BadOperand]
# |       tl.store(out + at, double[(1,)](a, 2.0))
# |                          ^~~~~~~~~~~~
# | HINT: a kernel calls functions with parentheses: double(...)

# -----
# load-none - loading through an argument that is None
# Why: The caller left `bias` out: it is None in this specialization.
# Fix: Guard the load: `if bias is not None:`.

import triton
import triton.language as tl


# tessera: instance shift(x="*fp32:16", bias=None, out="*fp32:16", BLOCK=128)
@triton.jit
def shift(x, bias, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) + tl.load(bias + at))

# expect:
# | kernel.py:9:50: error: an operand of `+` is None: an argument that was left out, or what a function without `return` gives [BadOperand]
# |       tl.store(out + at, tl.load(x + at) + tl.load(bias + at))
# |                                                    ^~~~~~~~~
# | HINT: do this only `if` the argument `is not None`

# -----
# missing-return - using what a helper without `return` gives
# Why: A function without `return` gives None.
# Fix: Add `return y` to the helper.

import triton
import triton.language as tl


@triton.jit
def double(x):
    y = x * 2.0


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, double(a) + 1.0)

# expect:
# | kernel.py:15:24: error: an operand of `+` is None: an argument that was left out, or what a function without `return` gives [BadOperand]
# |       tl.store(out + at, double(a) + 1.0)
# |                          ^~~~~~~~~~~~~~~
# | HINT: do this only `if` the argument `is not None`

# -----
# not-on-block - `not` of a number
# Why: `not` turns a truth value around; a number has to be compared first.
# Fix: Write `a == 0.0`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, a, mask=not a)

# expect:
# | kernel.py:10:32: error: `not` needs a boolean, got fp32[128] [BadOperand]
# |       tl.store(out + at, a, mask=not a)
# |                                  ^~~~~
# | HINT: compare with 0: a == 0
