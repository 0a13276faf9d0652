# tests/errors/cases/BadPointer.py - kernel files that cause BadPointer, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# float-offset - a pointer moved by a float
# Why: `/` always gives a float, and an address is counted in whole elements.
# Fix: Divide with `//`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at + n / 2, a)

# expect:
# | kernel.py:10:14: error: `+` needs an integer with a pointer, got fp32 [BadPointer]
# |       tl.store(out + at + n / 2, a)
# |                ^~~~~~~~~~~~~~~~
# | HINT: a pointer moves by whole elements; `/` always gives a float: divide with //, or write (n / 2).to(tl.int32)

# -----
# forgotten-load - computing with a pointer
# Why: `x + at` are addresses; the values there have to be loaded.
# Fix: Write `tl.load(x + at) * 2.0`.

import triton
import triton.language as tl


# tessera: instance double(x="*fp32:16", out="*fp32:16", BLOCK=128)
@triton.jit
def double(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, (x + at) * 2.0)

# expect:
# | kernel.py:9:24: error: `*` is not defined for *fp32[128] and constexpr 2.0 [BadPointer]
# |       tl.store(out + at, (x + at) * 2.0)
# |                          ^~~~~~~~~~~~~~
# | HINT: pointers are addresses; load the values first: tl.load(x + at)

# -----
# load-value - loading from a value that is not a pointer
# Why: `n` is passed as a number; only pointer arguments can be loaded from.
# Fix: Use `n` itself.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    count = tl.load(n)
    tl.store(out + at, a, mask=at < count)

# expect:
# | kernel.py:10:21: error: tl.load: `pointer` must be a pointer, got int32 [BadPointer]
# |       count = tl.load(n)
# |                       ^
# | HINT: pointers are the tensor arguments of the kernel, plus offsets

# -----
# move-block-pointer - moving a block pointer with `+`
# Why: A block pointer has one offset for each dimension.
# Fix: Write `source = tl.advance(source, (0, BN))`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", M="i32", N="i32", BM=16, BN=32)
@triton.jit
def rows(x, out, M, N, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_block_ptr(x, (M, N), (N, 1), (0, 0), (BM, BN), (1, 0))
    a = tl.load(source)
    source = source + BN
    tl.store(out, tl.sum(a + tl.load(source)))

# expect:
# | kernel.py:10:14: error: a block pointer cannot be moved with `+` [BadPointer]
# |       source = source + BN
# |                ^~~~~~~~~~~
# | HINT: write tl.advance(source, (...)) with one step for each dimension

# -----
# store-pointers - storing addresses instead of values
# Why: The second argument of tl.store is what is written; here it is a block of pointers.
# Fix: Load first: `tl.store(out + at, tl.load(x + at))`.

import triton
import triton.language as tl


# tessera: instance copy(x="*fp32:16", out="*fp32:16", BLOCK=128)
@triton.jit
def copy(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, x + at)

# expect:
# | kernel.py:9:24: error: tl.store: `value` is a pointer [BadPointer]
# |       tl.store(out + at, x + at)
# |                          ^~~~~~
# | HINT: store values, not addresses: tl.load(x + at)
