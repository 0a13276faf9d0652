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
