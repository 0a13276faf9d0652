# tests/errors/cases/NotSupported.py - kernel files that cause NotSupported, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# class-in-file - a class in a kernel file
# Why: Of a kernel file only imports, constants and kernel functions are read; other code may stand there,
#   but kernels do not see it.
# Fix: Pass the values as arguments.

import triton
import triton.language as tl

class Config:
    scale = 2.0


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, a * Config.scale)

# expect:
# | kernel.py:13:28: error: the class `Config` is code around kernels, which is not read [NotSupported]
# |       tl.store(out + at, a * Config.scale)
# |                              ^~~~~~
# | HINT: a class of typing.NamedTuple, or under @triton.aggregate, may have fields with annotations and functions under @triton.jit; else pass the values one by one

# -----
# index-block - taking one element of a block
# Why: The elements of a block lie spread over registers; picking one is slow by a
#   number.
# Fix: Load the element from memory: `tl.load(x)`; or reduce: `tl.sum(tl.where(at == 0, a,
#   0.0))`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    first = a[0]
    tl.store(out + at, a - first)

# expect:
# | kernel.py:10:15: error: a block is indexed with None and `:` only [NotSupported]
# |       first = a[0]
# |                 ^
# | HINT: load the element through a pointer, or reduce: tl.sum(tl.where(index == 0, a, 0))

# -----
# index-pointer - a pointer with an index
# Why: Pointers are moved with `+`, and the value is loaded.
# Fix: Write `tl.load(x + at)`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    b = x[at]
    tl.store(out + at, a + b)

# expect:
# | kernel.py:10:11: error: a block is indexed with None and `:` only [NotSupported]
# |       b = x[at]
# |             ^~
# | HINT: a pointer is moved with +: tl.load(x + at)

# -----
# int8-atomic - an atomic operation on bytes
# Why: Atomic operations exist for 32 and 64 bits, and adding for 16-bit floats.
# Fix: Count in int32.

import triton
import triton.language as tl


# tessera: instance count(x="*i8:16", out="*i8:16", BLOCK=128)
@triton.jit
def count(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.atomic_add(out + at, tl.load(x + at))

# expect:
# | kernel.py:9:19: error: tl.atomic_add does not support int8 [NotSupported]
# |       tl.atomic_add(out + at, tl.load(x + at))
# |                     ^~~~~~~~
# | HINT: use memory of int32 or int64

# -----
# math-on-block - a function of math on a block
# Why: The functions of `math` take compile-time numbers.
# Fix: Write `tl.exp(a)`.

import triton
import triton.language as tl

import math


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, math.exp(a))

# expect:
# | kernel.py:12:24: error: `math.exp` is not supported in a kernel [NotSupported]
# |       tl.store(out + at, math.exp(a))
# |                          ^~~~~~~~
# | HINT: the function of kernels is tl.exp

# -----
# matmul-operator - `@` between blocks
# Why: The matrix product has options and is written as a function.
# Fix: Write `tl.dot(p, q)`.

import triton
import triton.language as tl


# tessera: instance product(a="*fp16:16", b="*fp16:16", out="*fp32:16", M=32, N=32)
@triton.jit
def product(a, b, out, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    p = tl.load(a + i[:, None] * N + j[None, :])
    q = tl.load(b + i[:, None] * N + j[None, :])
    c = p @ q
    tl.store(out + i[:, None] * N + j[None, :], c)

# expect:
# | kernel.py:12:9: error: `@` is not supported [NotSupported]
# |       c = p @ q
# |           ^~~~~
# | HINT: write tl.dot(p, q)

# -----
# misspelt-type - a type that does not exist, in a constant of the file
# Why: `tl.float33` is not a type; constants may name types that kernels use.
# Fix: Write `tl.float32`.

import triton
import triton.language as tl

ACC = tl.float33


# tessera: instance rows(out="*fp32:16", BLOCK=128)
@triton.jit
def rows(out, BLOCK: tl.constexpr):
    tl.store(out + tl.arange(0, BLOCK), tl.zeros((BLOCK,), ACC))

# expect:
# | kernel.py:10:60: error: no `tl.float33`, or it is not supported yet [NotSupported]
# |       tl.store(out + tl.arange(0, BLOCK), tl.zeros((BLOCK,), ACC))
# |                                                              ^~~
# | HINT: did you mean `tl.float32`?

# -----
# not-jit - calling a helper that is not decorated
# Why: Only functions decorated with @triton.jit are compiled into kernels.
# Fix: Put `@triton.jit` above `relu`.

import triton
import triton.language as tl


def relu(x):
    return tl.maximum(x, 0.0)


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, relu(a))

# expect:
# | kernel.py:14:24: error: `relu` is not a kernel function [NotSupported]
# |       tl.store(out + at, relu(a))
# |                          ^~~~~~~
# | HINT: decorate it with @triton.jit

# -----
# numpy-in-kernel - a function of numpy inside a kernel
# Why: Only `tl` and `math` have functions that a kernel can call.
# Fix: Write `tl.arange(0, BLOCK)`.

import triton
import triton.language as tl

import numpy as np


# tessera: instance fill(out="*i32:16", BLOCK=128)
@triton.jit
def fill(out, BLOCK: tl.constexpr):
    at = np.arange(BLOCK)
    tl.store(out + at, at)

# expect:
# | kernel.py:10:10: error: `numpy.arange` is not supported in a kernel [NotSupported]
# |       at = np.arange(BLOCK)
# |            ^~~~~~~~~
# | HINT: the function of kernels is tl.arange

# -----
# power-operator - `**` between run-time values
# Why: GPUs do not have a power instruction.
# Fix: Write `a * a`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, a ** 2)

# expect:
# | kernel.py:10:24: error: `**` is only defined between compile-time numbers [NotSupported]
# |       tl.store(out + at, a ** 2)
# |                          ^~~~~~
# | HINT: write a * a

# -----
# slice-block - taking a slice of a block
# Why: A part of a block would have another shape at run time; blocks are indexed with None and
#   `:` only.
# Fix: Load the part that is wanted: `tl.load(x + tl.arange(0, 64))`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    half = a[0:64]
    tl.store(out + tl.arange(0, 64), half)

# expect:
# | kernel.py:10:14: error: a block is indexed with None and `:` only [NotSupported]
# |       half = a[0:64]
# |                ^~~~
# | HINT: load that part through a pointer, with tl.arange as offsets; or mask the rest

# -----
# tl-float - a type that does not exist
# Why: Types of the language carry their width.
# Fix: Write `tl.float32`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    b = a.to(tl.float)
    tl.store(out + at, b)

# expect:
# | kernel.py:10:14: error: no `tl.float`, or it is not supported yet [NotSupported]
# |       b = a.to(tl.float)
# |                ^~~~~~~~
# | HINT: the type has a width: tl.float16, tl.bfloat16, tl.float32 or tl.float64

# -----
# torch-in-kernel - a function of torch inside a kernel
# Why: A kernel is compiled to machine code: it sees blocks, not tensors of torch.
# Fix: Write `tl.zeros((BLOCK,), tl.float32)`.

import triton
import triton.language as tl

import torch


# tessera: instance clear(out="*fp32:16", BLOCK=128)
@triton.jit
def clear(out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, torch.zeros(BLOCK))

# expect:
# | kernel.py:11:24: error: `torch.zeros` is not supported in a kernel [NotSupported]
# |       tl.store(out + at, torch.zeros(BLOCK))
# |                          ^~~~~~~~~~~
# | HINT: the function of kernels is tl.zeros

# -----
# torch-type - a type of torch
# Why: torch's types are for tensors; blocks have those of `tl`.
# Fix: Write `tl.float16`.

import triton
import triton.language as tl

import torch


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, a.to(torch.float16))

# expect:
# | kernel.py:12:29: error: `torch.float16` is not supported in a kernel [NotSupported]
# |       tl.store(out + at, a.to(torch.float16))
# |                               ^~~~~~~~~~~~~
# | HINT: the type of kernels is tl.float16

# -----
# unknown-builtin - a misspelt function of the language
# Why: The page of builtins lists every function there is.
# Fix: Write `tl.load`.

import triton
import triton.language as tl


# tessera: instance copy(x="*fp32:16", out="*fp32:16", BLOCK=128)
@triton.jit
def copy(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.laod(x + at))

# expect:
# | kernel.py:9:24: error: no `tl.laod`, or it is not supported yet [NotSupported]
# |       tl.store(out + at, tl.laod(x + at))
# |                          ^~~~~~~
# | HINT: did you mean `tl.load`?

# -----
# unread-statement - a constant of a statement that is not read
# Why: Statements around kernels may hold any Python. What the compiler does not evaluate is skipped until a
#   kernel needs a name of it.
# Fix: Write `WIDTHS = [16, 32]`.

import triton
import triton.language as tl

WIDTHS = {16 * factor for factor in (1, 2)}


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, a * len(WIDTHS))

# expect:
# | kernel.py:12:32: error: `WIDTHS` is set by code that is not read (kernel.py:4: a set comprehension is not supported) [NotSupported]
# |       tl.store(out + at, a * len(WIDTHS))
# |                                  ^~~~~~
# | HINT: write a list: [... for x in ...]

# -----
# in-an-aggregate - `in` the object of an aggregate
# Why: An aggregate has fields and is not a tuple.
# Fix: Compare with a field.

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
    if 3 in mean:
        tl.store(out + at, mean.total)

# expect:
# | kernel.py:16:8: error: `in` is only supported between compile-time values and tuples or dicts [NotSupported]
# |       if 3 in mean:
# |          ^~~~~~~~~
# | HINT: name the field: mean.total
