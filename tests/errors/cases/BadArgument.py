# tests/errors/cases/BadArgument.py - kernel files that cause BadArgument, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# bad-permutation - the order repeats a dimension
# Why: Each dimension must occur once.
# Fix: Write `tl.permute(p, (1, 0))`.

import triton
import triton.language as tl


# tessera: instance product(a="*fp16:16", b="*fp16:16", out="*fp32:16", M=32, N=32)
@triton.jit
def product(a, b, out, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    p = tl.load(a + i[:, None] * N + j[None, :])
    q = tl.load(b + i[:, None] * N + j[None, :])
    r = tl.permute(p, (0, 0))
    tl.store(out + i[:, None] * N + j[None, :], r)

# expect:
# | kernel.py:12:9: error: the order [0, 0] is not a permutation of the 2 dimensions of fp16[32, 32] [BadArgument]
# |       r = tl.permute(p, (0, 0))
# |           ^~~~~~~~~~~~~~~~~~~~~
# | HINT: name each dimension from 0 to 1 once

# -----
# block-pointer-rank - a block pointer whose parts differ in rank
# Why: shape, strides, offsets, block_shape and order have one entry for each dimension.
# Fix: Give two offsets: `(0, 0)`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", M="i32", N="i32", BM=16, BN=32)
@triton.jit
def rows(x, out, M, N, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_block_ptr(x, (M, N), (N, 1), (0,), (BM, BN), (1, 0))
    tl.store(out, tl.sum(tl.load(source)))

# expect:
# | kernel.py:8:51: error: tl.make_block_ptr: `offsets` has 1 entry for 2 dimensions [BadArgument]
# |       source = tl.make_block_ptr(x, (M, N), (N, 1), (0,), (BM, BN), (1, 0))
# |                                                     ^~~~
# | HINT: write one for each dimension of the block

# -----
# boundary-check-axis - checking the boundary of a dimension that is not there
# Why: A block pointer of rank 2 has the dimensions 0 and 1.
# Fix: Write `boundary_check=(0, 1)`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", M="i32", N="i32", BM=16, BN=32)
@triton.jit
def rows(x, out, M, N, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_block_ptr(x, (M, N), (N, 1), (0, 0), (BM, BN), (1, 0))
    a = tl.load(source, boundary_check=(1, 2))
    tl.store(out, tl.sum(a))

# expect:
# | kernel.py:9:25: error: tl.load: `boundary_check` names dimension 2 of a block of rank 2 [BadArgument]
# |       a = tl.load(source, boundary_check=(1, 2))
# |                           ^~~~~~~~~~~~~~~~~~~~~
# | HINT: dimensions count from 0 to 1

# -----
# boundary-check-pointer - boundary_check on plain pointers
# Why: Plain pointers do not know where the array ends.
# Fix: Use `mask=`.

import triton
import triton.language as tl


# tessera: instance copy(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def copy(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    a = tl.load(x + at, boundary_check=(0,))
    tl.store(out + at, a, mask=at < n)

# expect:
# | kernel.py:9:25: error: tl.load: `boundary_check` is for block pointers only [BadArgument]
# |       a = tl.load(x + at, boundary_check=(0,))
# |                           ^~~~~~~~~~~~~~~~~~~
# | HINT: use mask= and other= with pointers, or tl.make_block_ptr

# -----
# cache-word - an unknown cache word
# Why: The words are those of Triton.
# Fix: Use one of the words that the message lists, or leave it out.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    b = tl.load(x + at, cache_modifier=".fast")
    tl.store(out + at, a + b)

# expect:
# | kernel.py:10:25: error: tl.load: `cache_modifier` cannot be '.fast' [BadArgument]
# |       b = tl.load(x + at, cache_modifier=".fast")
# |                           ^~~~~~~~~~~~~~~~~~~~~~
# | HINT: one of '.ca' '.cg' '.cv'

# -----
# empty-range - an arange whose end is before its start
# Why: tl.arange(start, end) counts upwards and holds at least one number.
# Fix: Write `tl.arange(0, BLOCK)`.

import triton
import triton.language as tl


# tessera: instance copy(x="*fp32:16", out="*fp32:16", BLOCK=128)
@triton.jit
def copy(x, out, BLOCK: tl.constexpr):
    at = tl.arange(BLOCK, 0)
    tl.store(out + at, tl.load(x + at))

# expect:
# | kernel.py:8:27: error: tl.arange(128, 0) is empty [BadArgument]
# |       at = tl.arange(BLOCK, 0)
# |                             ^
# | HINT: it counts upwards, from the first number to below the second: did you mean tl.arange(0, BLOCK)?

# -----
# exp-of-half - a function of float32 given float16
# Why: As under Triton, exp and its kin do not take 16-bit floats.
# Fix: Convert: `tl.exp(a.to(tl.float32))`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp16:16", out="*fp32:16", BLOCK=128)
@triton.jit
def rows(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.exp(tl.load(x + at)))

# expect:
# | kernel.py:9:31: error: tl.exp: `x` must be fp32 or fp64, got fp16[128] [BadArgument]
# |       tl.store(out + at, tl.exp(tl.load(x + at)))
# |                                 ^~~~~~~~~~~~~~~
# | HINT: convert it: tl.load(x + at).to(tl.float32)

# -----
# exp-of-integer - a function of floats given integers
# Why: exp, log, sqrt and their kin are defined for float32 and float64.
# Fix: Convert: `tl.exp(at.to(tl.float32))`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, tl.exp(at))

# expect:
# | kernel.py:10:31: error: tl.exp: `x` must be fp32 or fp64, got int32[128] [BadArgument]
# |       tl.store(out + at, tl.exp(at))
# |                                 ^~
# | HINT: convert it: at.to(tl.float32)

# -----
# len-of-block - len of a block
# Why: A block has a shape with one entry for each dimension.
# Fix: Write `a.shape[0]`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, a * len(a))

# expect:
# | kernel.py:10:32: error: len() needs a tuple, got fp32[128] [BadArgument]
# |       tl.store(out + at, a * len(a))
# |                                  ^
# | HINT: the length of a block is a.shape[0]

# -----
# mask-not-boolean - the mask is not boolean
# Why: A mask says for each element whether it is read; numbers do not.
# Fix: Compare: `mask=at < n`.

import triton
import triton.language as tl


# tessera: instance copy(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def copy(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    a = tl.load(x + at, mask=n)
    tl.store(out + at, a)

# expect:
# | kernel.py:9:25: error: tl.load: `mask` must be boolean, got int32 [BadArgument]
# |       a = tl.load(x + at, mask=n)
# |                           ^~~~~~
# | HINT: a mask has a truth value for each element: compare, as in offsets < n

# -----
# mask-on-block-pointer - a mask on a block pointer
# Why: A block pointer knows the shape of the array and checks by itself.
# Fix: Use `boundary_check=(0, 1)`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", M="i32", N="i32", BM=16, BN=32)
@triton.jit
def rows(x, out, M, N, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_block_ptr(x, (M, N), (N, 1), (0, 0), (BM, BN), (1, 0))
    a = tl.load(source, mask=M > 0)
    tl.store(out, tl.sum(a))

# expect:
# | kernel.py:9:25: error: tl.load: `mask` does not go with a block pointer [BadArgument]
# |       a = tl.load(source, mask=M > 0)
# |                           ^~~~~~~~~~
# | HINT: use boundary_check= and padding_option=

# -----
# offsets-as-mask - offsets given as the second argument
# Why: The second argument of tl.load is a mask; offsets are added to the pointer.
# Fix: Write `tl.load(x + at)`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    b = tl.load(x, at)
    tl.store(out + at, a + b)

# expect:
# | kernel.py:10:20: error: tl.load: `mask` must be boolean, got int32[128] [BadArgument]
# |       b = tl.load(x, at)
# |                      ^~
# | HINT: offsets are added to the pointer: x + at

# -----
# other-without-mask - `other` without a mask
# Why: `other` is what masked-out elements read as; without a mask there are none.
# Fix: Add the mask: `tl.load(x + at, mask=at < n, other=0.0)`.

import triton
import triton.language as tl


# tessera: instance copy(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def copy(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    a = tl.load(x + at, other=0.0)
    tl.store(out + at, a, mask=at < n)

# expect:
# | kernel.py:9:25: error: tl.load: `other` needs a mask [BadArgument]
# |       a = tl.load(x + at, other=0.0)
# |                           ^~~~~~~~~
# | HINT: it is what masked-out elements read as: add mask=...

# -----
# precision-word - an unknown precision
# Why: How float32 matrices are multiplied has three names.
# Fix: Write `input_precision="ieee"`.

import triton
import triton.language as tl


# tessera: instance product(a="*fp16:16", b="*fp16:16", out="*fp32:16", M=32, N=32)
@triton.jit
def product(a, b, out, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    p = tl.load(a + i[:, None] * N + j[None, :])
    q = tl.load(b + i[:, None] * N + j[None, :])
    c = tl.dot(p, q, input_precision="fp32")
    tl.store(out + i[:, None] * N + j[None, :], c)

# expect:
# | kernel.py:12:22: error: tl.dot: `input_precision` cannot be 'fp32' [BadArgument]
# |       c = tl.dot(p, q, input_precision="fp32")
# |                        ^~~~~~~~~~~~~~~~~~~~~~
# | HINT: one of 'ieee' 'tf32' 'tf32x3' 'bf16x3' 'bf16x6'

# -----
# program-axis - a fourth axis of the grid
# Why: A grid has up to three axes: 0, 1 and 2.
# Fix: Use axis 0, 1 or 2.

import triton
import triton.language as tl


# tessera: instance fill(out="*fp32:16")
@triton.jit
def fill(out):
    tl.store(out + tl.program_id(3), 1.0)

# expect:
# | kernel.py:8:34: error: tl.program_id: `axis` is 3; a grid has axes 0, 1 and 2 [BadArgument]
# |       tl.store(out + tl.program_id(3), 1.0)
# |                                    ^

# -----
# python-max - Python's max of one block
# Why: `max(x, y)` chooses between values; the largest element of one block is a reduction.
# Fix: Write `tl.max(a, axis=0)`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, a - max(a))

# expect:
# | kernel.py:10:32: error: max() needs at least two values [BadArgument]
# |       tl.store(out + at, a - max(a))
# |                                  ^
# | HINT: for the extreme element of a block write tl.max(a, axis=0)

# -----
# python-type - a type of Python
# Why: float and int say nothing of a width.
# Fix: Write `.to(tl.float32)`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, at.to(float))

# expect:
# | kernel.py:10:30: error: tl.to: `dtype` must be a type such as tl.float32, got function float [BadArgument]
# |       tl.store(out + at, at.to(float))
# |                                ^~~~~
# | HINT: a type has a width: tl.float32 or tl.float64

# -----
# type-as-string - a type given as text
# Why: Types are values of the module `tl`.
# Fix: Write `tl.float32`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    b = tl.zeros((BLOCK,), "float32")
    tl.store(out + at, a + b)

# expect:
# | kernel.py:10:28: error: tl.zeros: `dtype` must be a type such as tl.float32, got the text 'float32' [BadArgument]
# |       b = tl.zeros((BLOCK,), "float32")
# |                              ^~~~~~~~~
# | HINT: types are values, not texts: write tl.float32

# -----
# wrong-axis - reducing along an axis that is not there
# Why: A block of rank 1 has axis 0 only.
# Fix: Write `axis=0`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out, tl.sum(a, axis=1))

# expect:
# | kernel.py:10:29: error: tl.sum: `axis` is 1, outside the dimensions of a block of rank 1 [BadArgument]
# |       tl.store(out, tl.sum(a, axis=1))
# |                               ^~~~~~
# | HINT: a block of rank 1 has axis 0

# -----
# compile-time-field - a compile-time number for a field that is a tensor
# Why: Triton takes no Python number for such a field.
# Fix: Annotate the field with `tl.constexpr`, or pass `tl.to_tensor(...)`.

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
    pair = Pair(3.0, 4)
    tl.store(out + at, a)

# expect:
# | kernel.py:19:12: error: field `offset` of `Pair` is a tl.tensor, but the value is constexpr 3.0 [BadArgument]
# |       pair = Pair(3.0, 4)
# |              ^~~~~~~~~~~~
# | HINT: annotate the field with tl.constexpr, or pass tl.to_tensor(...)

# -----
# sum-of-an-aggregate - a reduction of an aggregate
# Why: A reduction takes a block, and an aggregate has several values.
# Fix: Name a field, `tl.sum(pair.offset)`.

import triton
import triton.language as tl


@triton.aggregate
class Pair:
    offset: tl.tensor
    COUNT: tl.constexpr


# tessera: instance rows(x="*fp32:16", out="*fp32:16", BLOCK=128)
@triton.jit
def rows(x, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    pair = Pair(tl.load(x + at), 4)
    tl.store(out, tl.sum(pair))

# expect:
# | kernel.py:16:26: error: tl.sum: `input` must be a number or a block, got aggregate Pair [BadArgument]
# |       tl.store(out, tl.sum(pair))
# |                            ^~~~
# | HINT: name the field: pair.offset

# -----
# replace-of-a-block - aggregate_replace of another value
# Why: Only values of a class under `@triton.aggregate` have fields to replace.
# Fix: Pass such a value.

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
    pair = tl.aggregate_replace(a, offset=a)
    tl.store(out + at, a)

# expect:
# | kernel.py:19:12: error: tl.aggregate_replace needs a value of a class under @triton.aggregate, got fp32[128] [BadArgument]
# |       pair = tl.aggregate_replace(a, offset=a)
# |              ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# | HINT: write tl.aggregate_replace(value, field=...)

# -----
# length-of-an-aggregate - len() of the object of an aggregate
# Why: An aggregate has fields and is not a tuple.
# Fix: Write the number of fields.

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
    tl.store(out + at, mean.total * len(mean))

# expect:
# | kernel.py:16:41: error: len() needs a tuple, got aggregate Mean [BadArgument]
# |       tl.store(out + at, mean.total * len(mean))
# |                                           ^~~~
# | HINT: name the field: mean.total

# -----
# tuple-of-an-aggregate - tl.tuple() of the object of an aggregate
# Why: An aggregate has fields and is not a tuple.
# Fix: Write the tuple: `(mean.total, mean.count)`.

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
    parts = tl.tuple(mean)
    tl.store(out + at, parts[0])

# expect:
# | kernel.py:16:22: error: a tuple is made of a tuple or list, got aggregate Mean [BadArgument]
# |       parts = tl.tuple(mean)
# |                        ^~~~
# | HINT: name the fields: mean.total, mean.count

# -----
# reduction-of-an-aggregate - tl.reduce of the object of an aggregate
# Why: A reduction takes a block or a tuple of blocks.
# Fix: Write the tuple of the fields.

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
    tl.store(out, tl.reduce(mean, 0, tl.maximum))

# expect:
# | kernel.py:16:29: error: tl.reduce: `input` must be a block of numbers or a tuple of them, got aggregate Mean [BadArgument]
# |       tl.store(out, tl.reduce(mean, 0, tl.maximum))
# |                               ^~~~
# | HINT: name the field: mean.total

# -----
# aggregate-as-a-field - the object of an aggregate for a field of tl.tensor
# Why: A field holds a value of its annotation.
# Fix: Annotate the field with `Mean`.

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
    outer = Mean(mean, n)
    tl.store(out + at, outer.total.total)

# expect:
# | kernel.py:16:13: error: field `total` of `Mean` is a tl.tensor, but the value is aggregate Mean [BadArgument]
# |       outer = Mean(mean, n)
# |               ^~~~~~~~~~~~~
# | HINT: annotate the field with the class of its value

# -----
# instance-of-a-function - isinstance() with a function
# Why: isinstance() asks for a class.
# Fix: Name a class.

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
    if isinstance(mean, tl.load):
        tl.store(out + at, mean.total)

# expect:
# | kernel.py:16:25: error: isinstance() does not know function tl.load [BadArgument]
# |       if isinstance(mean, tl.load):
# |                           ^~~~~~~
# | HINT: ask for tl.tensor, tl.dtype, tl.tensor_descriptor, int, float, bool, tuple, an aggregate or a class of NamedTuple; the type of elements is x.dtype

# -----
# dot-half-to-integer - float16 matrices with an integer out_dtype
# Why: The product of float16 matrices is float16 or float32.
# Fix: Convert the product: `tl.dot(p, q).to(tl.int32)`.

import triton
import triton.language as tl


# tessera: instance product(a="*fp16:16", b="*fp16:16", out="*fp32:16", M=32)
@triton.jit
def product(a, b, out, M: tl.constexpr):
    at = tl.arange(0, M)[:, None] * M + tl.arange(0, M)[None, :]
    p, q = tl.load(a + at), tl.load(b + at)
    tl.store(out + at, tl.dot(p, q, out_dtype=tl.int32))

# expect:
# | kernel.py:10:37: error: tl.dot of fp16 cannot give int32 [BadArgument]
# |       tl.store(out + at, tl.dot(p, q, out_dtype=tl.int32))
# |                                       ^~~~~~~~~~~~~~~~~~
# | HINT: take fp32 and convert with .to(...)
