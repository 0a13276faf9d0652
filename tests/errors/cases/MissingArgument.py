# tests/errors/cases/MissingArgument.py - kernel files that cause MissingArgument, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# arange-one-argument - tl.arange with one argument
# Why: Unlike Python's range, tl.arange wants both ends.
# Fix: Write `tl.arange(0, BLOCK)`.

import triton
import triton.language as tl


# tessera: instance copy(x="*fp32:16", out="*fp32:16", BLOCK=128)
@triton.jit
def copy(x, out, BLOCK: tl.constexpr):
    at = tl.arange(BLOCK)
    tl.store(out + at, tl.load(x + at))

# expect:
# | kernel.py:8:10: error: tl.arange needs `end` [MissingArgument]
# |       at = tl.arange(BLOCK)
# |            ^~~~~~~~~~~~~~~~
# | HINT: it is tl.arange(start, end)

# -----
# helper-missing - a helper called with too few arguments
# Why: Each parameter without a default needs an argument.
# Fix: Pass `y`, or give it a default.

import triton
import triton.language as tl


@triton.jit
def blend(x, y):
    return (x + y) * 0.5


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, blend(a))

# expect:
# | kernel.py:15:24: error: `blend` needs `y` [MissingArgument]
# |       tl.store(out + at, blend(a))
# |                          ^~~~~~~~
# | HINT: it is blend(x, y)

# -----
# missing-argument - a call with too few arguments
# Why: tl.store needs to know what to write.
# Fix: Write `tl.store(out + at, a)`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at)

# expect:
# | kernel.py:10:5: error: tl.store needs `value` [MissingArgument]
# |       tl.store(out + at)
# |       ^~~~~~~~~~~~~~~~~~
# | HINT: it is tl.store(pointer, value, mask=None, boundary_check=(), cache_modifier='', eviction_policy='')

# -----
# where-two-arguments - tl.where with two arguments
# Why: tl.where chooses between two values.
# Fix: Write `tl.where(a > 0.0, a, 0.0)`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, tl.where(a > 0.0, a))

# expect:
# | kernel.py:10:24: error: tl.where needs `y` [MissingArgument]
# |       tl.store(out + at, tl.where(a > 0.0, a))
# |                          ^~~~~~~~~~~~~~~~~~~~
# | HINT: it is tl.where(condition, x, y)

# -----
# zeros-without-type - zeros of no type
# Why: A block has a type from its birth.
# Fix: Write `tl.zeros((BLOCK,), tl.float32)`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    b = tl.zeros((BLOCK,))
    tl.store(out + at, a + b)

# expect:
# | kernel.py:10:9: error: tl.zeros needs `dtype` [MissingArgument]
# |       b = tl.zeros((BLOCK,))
# |           ^~~~~~~~~~~~~~~~~~
# | HINT: it is tl.zeros(shape, dtype)

# -----
# field-not-set - `__init__` that sets not all fields
# Why: Every field has a value after `__init__`.
# Fix: Assign to each field.

import triton
import triton.language as tl


@triton.aggregate
class Pair:
    offset: tl.tensor
    COUNT: tl.constexpr

    def host(self):
        return self.offset


@triton.aggregate
class Half:
    slope: tl.tensor
    COUNT: tl.constexpr

    def __init__(self, slope):
        self.slope = slope


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    pair = Half(a)
    tl.store(out + at, a)

# expect:
# | kernel.py:19:9: error: `__init__` of `Half` does not set `COUNT` [MissingArgument]
# |       def __init__(self, slope):
# |           ^~~~~~~~
# | kernel.py:28:12: note: called from `rows`
# |       pair = Half(a)
# |              ^~~~~~~
# | HINT: assign to self.COUNT
