# tests/errors/cases/ShapeMismatch.py - kernel files that cause ShapeMismatch, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# dot-rank - a product of vectors
# Why: tl.dot multiplies matrices.
# Fix: Write `tl.sum(a * a)` for the product of two vectors.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out, tl.dot(a, a))

# expect:
# | kernel.py:10:26: error: tl.dot: `input` must have rank 2 or 3, got fp32[128] [ShapeMismatch]
# |       tl.store(out, tl.dot(a, a))
# |                            ^
# | HINT: for two vectors write tl.sum(a * a)

# -----
# dot-shapes - a product of shapes that do not fit
# Why: The columns of the first operand must be as many as the rows of the second.
# Fix: Transpose one operand with tl.trans, or load it with the indices exchanged.

import triton
import triton.language as tl


# tessera: instance product(a="*fp16:16", b="*fp16:16", out="*fp32:16", M=32, N=32)
@triton.jit
def product(a, b, out, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    p = tl.load(a + i[:, None] * N + j[None, :])
    q = tl.load(b + i[:, None] * N + j[None, :])
    k = tl.arange(0, 64)
    r = tl.load(b + k[:, None] * N + j[None, :])
    c = tl.dot(p, r)
    tl.store(out + i[:, None] * N + j[None, :], c)

# expect:
# | kernel.py:14:19: error: tl.dot: fp16[32, 32] has 32 columns, fp16[64, 32] has 64 rows [ShapeMismatch]
# |       c = tl.dot(p, r)
# |                     ^
# | HINT: transpose the second: tl.dot(p, tl.trans(r))

# -----
# mask-shape - a mask of another shape than the pointers
# Why: There must be one truth value for each address.
# Fix: Make the mask from the same index: `mask=at < n`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    wide = tl.arange(0, 256) < n
    tl.store(out + at, a, mask=wide)

# expect:
# | kernel.py:11:27: error: tl.store: `mask` has shape [256], the pointers have [128] [ShapeMismatch]
# |       tl.store(out + at, a, mask=wide)
# |                             ^~~~~~~~~
# | HINT: make both from the same offsets

# -----
# rank-mismatch - storing a row where a matrix is meant
# Why: The value is a block of rank 2, the pointers are of rank 1.
# Fix: Build the pointers with both indices: `out + i[:, None] * N + j[None, :]`.

import triton
import triton.language as tl


# tessera: instance product(a="*fp16:16", b="*fp16:16", out="*fp32:16", M=32, N=32)
@triton.jit
def product(a, b, out, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    p = tl.load(a + i[:, None] * N + j[None, :])
    q = tl.load(b + i[:, None] * N + j[None, :])
    tl.store(out + j, p + q)

# expect:
# | kernel.py:12:14: error: tl.store: pointers of shape [32] for values of shape [32, 32] [ShapeMismatch]
# |       tl.store(out + j, p + q)
# |                ^~~~~~~
# | HINT: several values would go to one address; build the pointers with the full shape

# -----
# reduced-shape - a row maximum taken from the matrix
# Why: The reduction has one dimension less than the block.
# Fix: Keep the dimension: `tl.max(p, axis=1, keep_dims=True)` or `m[:, None]`.

import triton
import triton.language as tl


# tessera: instance product(a="*fp16:16", b="*fp16:16", out="*fp32:16", M=32, N=64)
@triton.jit
def product(a, b, out, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    p = tl.load(a + i[:, None] * N + j[None, :])
    m = tl.max(p, axis=1)
    tl.store(out + i[:, None] * N + j[None, :], p - m)

# expect:
# | kernel.py:12:49: error: shapes [32, 64] and [32] do not broadcast: dimension 1 is 64 and 32 [ShapeMismatch]
# |       tl.store(out + i[:, None] * N + j[None, :], p - m)
# |                                                   ^~~~~
# | HINT: missing dimensions are added in front; add one at the end with x[:, None]

# -----
# reshape-size - a reshape that changes the number of elements
# Why: A reshape orders the same elements anew.
# Fix: 128 elements are (16, 8), (32, 4) and so on.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tile = tl.reshape(a, (16, 16))
    tl.store(out, tl.sum(tile))

# expect:
# | kernel.py:10:26: error: cannot reshape [128] (128 elements) to [16, 16] (256) [ShapeMismatch]
# |       tile = tl.reshape(a, (16, 16))
# |                            ^~~~~~~~
# | HINT: the sizes of the new shape must multiply to 128

# -----
# shapes-do-not-broadcast - an operation on two shapes
# Why: Dimensions must be equal, or one of them 1.
# Fix: Make both blocks of one length, or give them different dimensions with None.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    weight = tl.load(x + tl.arange(0, 64))
    tl.store(out + at, a * weight)

# expect:
# | kernel.py:11:24: error: shapes [128] and [64] do not broadcast: dimension 0 is 128 and 64 [ShapeMismatch]
# |       tl.store(out + at, a * weight)
# |                          ^~~~~~~~~~
# | HINT: make both of one length; or, for all pairs, index one with [:, None] and the other with [None, :]

# -----
# split-last-dimension - splitting a block whose last dimension is not 2
# Why: tl.split takes the two halves of a last dimension of size 2.
# Fix: Reshape first: `tl.split(tl.reshape(a, (BLOCK // 2, 2)))`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    even, odd = tl.split(a)
    tl.store(out + at, a)

# expect:
# | kernel.py:10:17: error: split needs a last dimension of size 2, got fp32[128] [ShapeMismatch]
# |       even, odd = tl.split(a)
# |                   ^~~~~~~~~~~
# | HINT: reshape first: tl.reshape(x, (64, 2))

# -----
# store-order - the arguments of tl.store in another order
# Why: tl.store takes a pointer, a value and a mask.
# Fix: Write `tl.store(out + at, a)`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out, at, a)

# expect:
# | kernel.py:10:19: error: tl.store: `value` is a block, int32[128], but the pointer is one address [ShapeMismatch]
# |       tl.store(out, at, a)
# |                     ^~
# | HINT: it takes a pointer, a value and a mask: out + at, a

# -----
# store-scalar-pointer - storing a block through one pointer
# Why: One address takes one value.
# Fix: Add the offsets: `out + at`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out, a)

# expect:
# | kernel.py:10:19: error: tl.store: `value` is a block, fp32[128], but the pointer is one address [ShapeMismatch]
# |       tl.store(out, a)
# |                     ^
# | HINT: add a block of offsets: out + tl.arange(...)

# -----
# sum-of-scalar - reducing a scalar
# Why: `n` is one number already.
# Fix: Write `n`, or reduce a block.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, a * tl.sum(n, axis=0))

# expect:
# | kernel.py:10:35: error: tl.sum needs a block, got the scalar int32 [ShapeMismatch]
# |       tl.store(out + at, a * tl.sum(n, axis=0))
# |                                     ^
# | HINT: of two scalars take tl.maximum, tl.minimum or +
