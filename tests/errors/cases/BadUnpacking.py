# tests/errors/cases/BadUnpacking.py - kernel files that cause BadUnpacking, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# tuple-arity - taking apart a tuple with too few names
# Why: `tl.max` with return_indices gives two values.
# Fix: Write one name for each value.

import triton
import triton.language as tl


@triton.jit
def bounds(x):
    return tl.min(x, axis=0), tl.max(x, axis=0)


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    low, high, middle = bounds(a)
    tl.store(out + at, a - low)

# expect:
# | kernel.py:15:5: error: cannot unpack 2 values into 3 names [BadUnpacking]
# |       low, high, middle = bounds(a)
# |       ^~~~~~~~~~~~~~~~~
# | HINT: write one name for each value; _ takes what is not needed

# -----
# unpack-block - taking apart what is not a tuple
# Why: tl.load gives one block, however many rows it has.
# Fix: Load twice, or use tl.split on a last dimension of size 2.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    low, high = tl.load(x + at)
    tl.store(out + at, low)

# expect:
# | kernel.py:10:5: error: cannot unpack fp32[128] into 2 names [BadUnpacking]
# |       low, high = tl.load(x + at)
# |       ^~~~~~~~~
# | HINT: it is one value: give it one name

# -----
# aggregate-unpacked - taking apart the object of an aggregate
# Why: An aggregate has fields and is not a tuple.
# Fix: Name the fields: `total, count = mean.total, mean.count`.

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
    total, count = mean
    tl.store(out + at, total / count)

# expect:
# | kernel.py:16:5: error: cannot unpack aggregate Mean into 2 names [BadUnpacking]
# |       total, count = mean
# |       ^~~~~~~~~~~~
# | HINT: name the fields: value.total, value.count

# -----
# aggregate-as-arguments - `*` before the object of an aggregate in a call
# Why: An aggregate has fields and is not a tuple.
# Fix: Name the fields: `tl.maximum(mean.total, mean.count)`.

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
    tl.store(out + at, tl.maximum(*mean))

# expect:
# | kernel.py:16:35: error: only a tuple can be spread with *, got aggregate Mean [BadUnpacking]
# |       tl.store(out + at, tl.maximum(*mean))
# |                                     ^~~~~
# | HINT: name the fields: mean.total, mean.count

# -----
# aggregate-in-a-tuple - `*` before the object of an aggregate in a tuple
# Why: An aggregate has fields and is not a tuple.
# Fix: Name the fields: `(mean.total, mean.count, 1)`.

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
    parts = (*mean, 1)
    tl.store(out + at, parts[0])

# expect:
# | kernel.py:16:14: error: only a tuple can be spread with *, got aggregate Mean [BadUnpacking]
# |       parts = (*mean, 1)
# |                ^~~~~
# | HINT: name the fields: mean.total, mean.count
