# tests/errors/cases/UnknownAttribute.py - kernel files that cause UnknownAttribute, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# list-append - collecting blocks in a list
# Why: A list of a kernel is fixed once written: it has no append.
# Fix: Accumulate into a block, or store each part where it belongs.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    parts = []
    parts.append(a)
    tl.store(out + at, parts[0])

# expect:
# | kernel.py:11:11: error: a tuple of 0 has no attribute `append` [UnknownAttribute]
# |       parts.append(a)
# |             ^~~~~~
# | HINT: a tuple or list of a kernel is fixed: accumulate into a block, or make a new tuple with +

# -----
# list-default - a list as a default
# Why: A list of a kernel is fixed: what a call appends to it would be lost, or shared in
#   Python.
# Fix: Leave the parameter out, or take a tuple.

import triton
import triton.language as tl


@triton.jit
def collect(x, parts=[]):
    parts.append(x)
    return x


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, collect(a))

# expect:
# | kernel.py:7:11: error: a tuple of 0 has no attribute `append` [UnknownAttribute]
# |       parts.append(x)
# |             ^~~~~~
# | kernel.py:16:24: note: called from `rows`
# |       tl.store(out + at, collect(a))
# |                          ^~~~~~~~~~
# | HINT: a tuple or list of a kernel is fixed: accumulate into a block, or make a new tuple with +

# -----
# unknown-attribute - an attribute that blocks do not have
# Why: A block has `dtype`, `shape`, `T` and the methods of the page of builtins.
# Fix: Write `a.shape`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    b = tl.zeros(a.size, a.dtype)
    tl.store(out + at, b)

# expect:
# | kernel.py:10:20: error: fp32[128] has no attribute `size` [UnknownAttribute]
# |       b = tl.zeros(a.size, a.dtype)
# |                      ^~~~
# | HINT: a.shape holds the sizes, a.numel their product

# -----
# host-function-of-a-class - a function of a class that is not under jit
# Why: Kernels see the functions of a class under `@triton.jit` or `@triton.constexpr_function`.
# Fix: Decorate the function.

import triton
import triton.language as tl


@triton.aggregate
class Pair:
    offset: tl.tensor
    COUNT: tl.constexpr

    def host(self):
        return self.offset


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    pair = Pair(a, 4).host()
    tl.store(out + at, a)

# expect:
# | kernel.py:19:23: error: aggregate Pair has no attribute `host` [UnknownAttribute]
# |       pair = Pair(a, 4).host()
# |                         ^~~~
# | HINT: known fields: offset, COUNT
