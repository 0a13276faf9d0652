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
# Why: The class does not define `__add__`.
# Fix: Define it under `@triton.jit`, or add the fields.

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
    tl.store(out + at, both.slope)

# expect:
# | kernel.py:16:12: error: `+` is not defined between aggregate Line and aggregate Line [BadOperand]
# |       both = line + line
# |              ^~~~~~~~~~~
# | HINT: name the field: line.slope

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

# -----
# aggregate-indexed - indexing the object of an aggregate
# Why: An aggregate has fields and is not a tuple.
# Fix: Name the field, `mean.total`.

import triton
import triton.language as tl


@triton.aggregate
class Mean:
    total: tl.tensor
    count: tl.tensor


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mean = Mean(tl.load(x + at), n)
    tl.store(out + at, mean[0])

# expect:
# | kernel.py:16:24: error: aggregate Mean cannot be indexed [BadOperand]
# |       tl.store(out + at, mean[0])
# |                          ^~~~~~~
# | HINT: name the field: mean.total

# -----
# aggregates-compared - `==` between the objects of an aggregate
# Why: The class does not define `__eq__`.
# Fix: Compare the fields.

import triton
import triton.language as tl


@triton.aggregate
class Mean:
    total: tl.tensor
    count: tl.tensor


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mean = Mean(tl.load(x + at), n)
    same = mean == mean
    tl.store(out + at, same)

# expect:
# | kernel.py:16:12: error: `==` is not defined between aggregate Mean and aggregate Mean [BadOperand]
# |       same = mean == mean
# |              ^~~~~~~~~~~~
# | HINT: name the field: mean.total

# -----
# not-of-an-aggregate - `not` before the object of an aggregate
# Why: An aggregate has no truth value.
# Fix: Test a field.

import triton
import triton.language as tl


@triton.aggregate
class Mean:
    total: tl.tensor
    count: tl.tensor


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mean = Mean(tl.load(x + at), n)
    if not mean:
        tl.store(out + at, mean.total)

# expect:
# | kernel.py:16:8: error: `not` is not defined for aggregate Mean [BadOperand]
# |       if not mean:
# |          ^~~~~~~~
# | HINT: name the field: mean.total

# -----
# aggregate-and-number - `and` between the object of an aggregate and a number
# Why: `and` takes truth values.
# Fix: Test a field.

import triton
import triton.language as tl


@triton.aggregate
class Mean:
    total: tl.tensor
    count: tl.tensor


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mean = Mean(tl.load(x + at), n)
    if mean and n > 3:
        tl.store(out + at, mean.total)

# expect:
# | kernel.py:16:17: error: `and` is not defined between aggregate Mean and int1 [BadOperand]
# |       if mean and n > 3:
# |                   ^~~~~
# | HINT: name the field: value.total

# -----
# number-or-aggregate - `or` between a number and the object of an aggregate
# Why: `or` takes truth values.
# Fix: Test a field.

import triton
import triton.language as tl


@triton.aggregate
class Mean:
    total: tl.tensor
    count: tl.tensor


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mean = Mean(tl.load(x + at), n)
    if n > 3 or mean:
        tl.store(out + at, mean.total)

# expect:
# | kernel.py:16:17: error: `or` is not defined between int1 and aggregate Mean [BadOperand]
# |       if n > 3 or mean:
# |                   ^~~~
# | HINT: name the field: mean.total

# -----
# tuple-plus-aggregate - `+` between a tuple and the object of an aggregate
# Why: An aggregate is not a tuple.
# Fix: Write the fields, `(1, 2, mean.total)`.

import triton
import triton.language as tl


@triton.aggregate
class Mean:
    total: tl.tensor
    count: tl.tensor


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mean = Mean(tl.load(x + at), n)
    both = (1, 2) + mean
    tl.store(out + at, both[2])

# expect:
# | kernel.py:16:12: error: `+` is not defined between a tuple of 2 and aggregate Mean [BadOperand]
# |       both = (1, 2) + mean
# |              ^~~~~~~~~~~~~
# | HINT: name the field: mean.total

# -----
# chain-without-truth - a chain of comparisons, one of which gives an aggregate
# Why: A chain joins the truth values of its comparisons, and this class defines `<` otherwise.
# Fix: Write the comparisons one by one.

import triton
import triton.language as tl


@triton.aggregate
class Mean:
    total: tl.tensor

    @triton.jit
    def __lt__(self, other):
        return Mean(tl.minimum(self.total, other))


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mean = Mean(tl.load(x + at))
    tl.store(out + at, mean < 2.0 < 3.0)

# expect:
# | kernel.py:19:24: error: a chain of comparisons joins truth values, and one comparison gives aggregate Mean [BadOperand]
# |       tl.store(out + at, mean < 2.0 < 3.0)
# |                          ^~~~~~~~~~~~~~~~
# | HINT: compare the fields of aggregates one by one
