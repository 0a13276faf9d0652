# tests/errors/cases/BadLoop.py - kernel files that cause BadLoop, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# float-range - a range that ends at a float
# Why: `/` always gives a float, and a loop counts in integers.
# Fix: Divide with `//`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    for k in range(0, n / BLOCK):
        a += tl.load(x + k * BLOCK + at)
    tl.store(out + at, a)

# expect:
# | kernel.py:10:14: error: loop bounds must be scalar integers, got fp32 [BadLoop]
# |       for k in range(0, n / BLOCK):
# |                ^~~~~~~~~~~~~~~~~~~
# | HINT: `/` always gives a float: divide with //, or convert with .to(tl.int32)

# -----
# list-comprehension - a comprehension inside a kernel
# Why: A comprehension in a kernel runs over a tuple, whose length is known at compile time.
# Fix: Unroll with tl.static_range, or write the tuple: `for k in (0, 1, 2, 3)`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    parts = [a * k for k in range(4)]
    tl.store(out + at, parts[0])

# expect:
# | kernel.py:10:29: error: a comprehension runs over a tuple, got a range [BadLoop]
# |       parts = [a * k for k in range(4)]
# |                               ^~~~~~~~
# | HINT: write a loop over tl.static_range

# -----
# loop-over-block - a loop over the elements of a block
# Why: A block is computed as a whole; a loop counts.
# Fix: Compute with the whole block: `total = tl.sum(a, axis=0)`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    total = 0.0
    for value in a:
        total += value
    tl.store(out, total)

# expect:
# | kernel.py:11:18: error: `for` needs range, tl.range, tl.static_range or a tuple, got fp32[128] [BadLoop]
# |       for value in a:
# |                    ^
# | HINT: a block is computed as a whole: write tl.sum(a, axis=0) and the like

# -----
# loop-over-number - a loop over a number
# Why: `for` goes through a range.
# Fix: Write `for k in range(n):`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    for k in n:
        a += 1.0
    tl.store(out + at, a)

# expect:
# | kernel.py:10:14: error: `for` needs range, tl.range, tl.static_range or a tuple, got int32 [BadLoop]
# |       for k in n:
# |                ^
# | HINT: to count, write range(n)

# -----
# zero-step - a loop that does not move
# Why: With a step of 0 the loop would never end.
# Fix: Use a step of at least 1, or a negative one to count down.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    for k in range(0, n, 0):
        a += 1.0
    tl.store(out + at, a)

# expect:
# | kernel.py:10:14: error: the step is zero [BadLoop]
# |       for k in range(0, n, 0):
# |                ^~~~~~~~~~~~~~
# | HINT: count up with 1 or more, down with a negative number

# -----
# loop-over-aggregate - a loop over the fields of an aggregate
# Why: An aggregate has fields and is not a tuple.
# Fix: Write the tuple: `for part in (mean.total, mean.count)`.

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
    for part in mean:
        tl.store(out + at, part)

# expect:
# | kernel.py:16:17: error: `for` needs range, tl.range, tl.static_range or a tuple, got aggregate Mean [BadLoop]
# |       for part in mean:
# |                   ^~~~
# | HINT: name the fields: mean.total, mean.count

# -----
# comprehension-over-aggregate - a comprehension over the fields of an aggregate
# Why: An aggregate has fields and is not a tuple.
# Fix: Write the tuple: `for part in (mean.total, mean.count)`.

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
    parts = [part * 2 for part in mean]
    tl.store(out + at, parts[0])

# expect:
# | kernel.py:16:35: error: a comprehension runs over a tuple, got aggregate Mean [BadLoop]
# |       parts = [part * 2 for part in mean]
# |                                     ^~~~
# | HINT: name the fields: mean.total, mean.count
