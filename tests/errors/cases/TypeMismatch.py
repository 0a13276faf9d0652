# tests/errors/cases/TypeMismatch.py - kernel files that cause TypeMismatch, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# dot-accumulator - an accumulator of another type than the product
# Why: The product of float16 matrices is accumulated in float32.
# Fix: Start with `tl.zeros((M, N), tl.float32)`.

import triton
import triton.language as tl


# tessera: instance product(a="*fp16:16", b="*fp16:16", out="*fp32:16", M=32, N=32)
@triton.jit
def product(a, b, out, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    p = tl.load(a + i[:, None] * N + j[None, :])
    q = tl.load(b + i[:, None] * N + j[None, :])
    acc = tl.zeros((M, N), tl.float64)
    acc = tl.dot(p, q, acc)
    tl.store(out + i[:, None] * N + j[None, :], acc)

# expect:
# | kernel.py:13:24: error: tl.dot: `acc` must be fp32[32, 32], got fp64[32, 32] [TypeMismatch]
# |       acc = tl.dot(p, q, acc)
# |                          ^~~
# | HINT: make it of that type: tl.zeros([32, 32], dtype=tl.float32)

# -----
# dot-types - a product of two types
# Why: A matrix product takes operands of one type.
# Fix: Convert one: `tl.dot(p, q.to(p.dtype))`.

import triton
import triton.language as tl


# tessera: instance product(a="*fp16:16", b="*fp16:16", out="*fp32:16", M=32, N=32)
@triton.jit
def product(a, b, out, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    p = tl.load(a + i[:, None] * N + j[None, :])
    q = tl.load(b + i[:, None] * N + j[None, :])
    c = tl.dot(p, q.to(tl.float32))
    tl.store(out + i[:, None] * N + j[None, :], c)

# expect:
# | kernel.py:12:19: error: tl.dot needs operands of one type, got fp16[32, 32] and fp32[32, 32] [TypeMismatch]
# |       c = tl.dot(p, q.to(tl.float32))
# |                     ^~~~~~~~~~~~~~~~
# | HINT: convert one: q.to(tl.float32).to(p.dtype)

# -----
# join-types - joining blocks of two types
# Why: The result is one block and has one type.
# Fix: Convert: `tl.join(a, at.to(tl.float32))`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    both = tl.join(a, at)
    tl.store(out, tl.sum(both))

# expect:
# | kernel.py:10:12: error: join needs equal types, got fp32[128] and int32[128] [TypeMismatch]
# |       both = tl.join(a, at)
# |              ^~~~~~~~~~~~~~
# | HINT: convert one with .to(tl.float32)

# -----
# dot-out-dtype - an out_dtype that is not the type of the accumulator
# Why: The result has the type of the accumulator.
# Fix: Leave out_dtype out.

import triton
import triton.language as tl


# tessera: instance product(a="*bf16:16", b="*bf16:16", out="*fp32:16", M=32)
@triton.jit
def product(a, b, out, M: tl.constexpr):
    at = tl.arange(0, M)[:, None] * M + tl.arange(0, M)[None, :]
    p, q = tl.load(a + at), tl.load(b + at)
    acc = tl.zeros((M, M), tl.float32)
    tl.store(out + at, tl.dot(p, q, acc, out_dtype=tl.float16))

# expect:
# | kernel.py:11:42: error: tl.dot: `out_dtype` is fp16, and `acc` is fp32[32, 32] [TypeMismatch]
# |       tl.store(out + at, tl.dot(p, q, acc, out_dtype=tl.float16))
# |                                            ^~~~~~~~~~~~~~~~~~~~
# | HINT: leave `out_dtype` out: the result has the type of `acc`

# -----
# dot-out-dtype-of-integers - an out_dtype of float32 for an accumulator of int32
# Why: The product of int8 matrices is int32.
# Fix: Leave out_dtype out.

import triton
import triton.language as tl


# tessera: instance product(a="*i8:16", b="*i8:16", out="*fp32:16", M=32)
@triton.jit
def product(a, b, out, M: tl.constexpr):
    at = tl.arange(0, M)[:, None] * M + tl.arange(0, M)[None, :]
    p, q = tl.load(a + at), tl.load(b + at)
    acc = tl.zeros((M, M), tl.int32)
    tl.store(out + at, tl.dot(p, q, acc, out_dtype=tl.float32))

# expect:
# | kernel.py:11:42: error: tl.dot: `out_dtype` is fp32, and `acc` is int32[32, 32] [TypeMismatch]
# |       tl.store(out + at, tl.dot(p, q, acc, out_dtype=tl.float32))
# |                                            ^~~~~~~~~~~~~~~~~~~~
# | HINT: leave `out_dtype` out: the result has the type of `acc`
