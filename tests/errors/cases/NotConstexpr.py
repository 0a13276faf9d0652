# tests/errors/cases/NotConstexpr.py - kernel files that cause NotConstexpr, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# f-string - an f-string of a run-time value
# Why: The text would have to be made while the kernel runs.
# Fix: Pass the value beside the text: `tl.device_print("n", n)`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.device_print(f"n is {n}")
    tl.store(out + at, a)

# expect:
# | kernel.py:10:29: error: an f-string holds compile-time values only, got int32 [NotConstexpr]
# |       tl.device_print(f"n is {n}")
# |                               ^
# | HINT: print run-time values with tl.device_print("name", value)

# -----
# lost-constexpr - a compile-time value assigned to a plain variable
# Why: A number that is assigned becomes a run-time value, as under Triton.
# Fix: Keep it: `half: tl.constexpr = BLOCK // 2`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    half = BLOCK // 2
    b = tl.load(x + tl.arange(0, half))
    tl.store(out + tl.arange(0, half), b)

# expect:
# | kernel.py:11:34: error: tl.arange: `end` must be a compile-time integer, got int32 [NotConstexpr]
# |       b = tl.load(x + tl.arange(0, half))
# |                                    ^~~~
# | HINT: `half` is known at run time only; if its value is not, annotate it where it is assigned: `half: tl.constexpr = ...`

# -----
# max-of-two-blocks - tl.max of two blocks
# Why: tl.max reduces one block; its second argument is an axis.
# Fix: Write `tl.maximum(a, b)`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    b = tl.load(x + at + 1)
    tl.store(out + at, tl.max(a, b))

# expect:
# | kernel.py:11:34: error: tl.max: `axis` must be a compile-time integer, got fp32[128] [NotConstexpr]
# |       tl.store(out + at, tl.max(a, b))
# |                                    ^
# | HINT: of two values take tl.maximum(a, b)

# -----
# missing-constexpr - a block size that is not annotated
# Why: A parameter without an annotation is known at run time only.
# Fix: Annotate it: `BLOCK: tl.constexpr`.

import triton
import triton.language as tl


# tessera: instance copy(x="*fp32:16", out="*fp32:16", BLOCK="i32")
@triton.jit
def copy(x, out, BLOCK):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at))

# expect:
# | kernel.py:8:50: error: tl.arange: `end` must be a compile-time integer, got int32 [NotConstexpr]
# |       at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
# |                                                    ^~~~~
# | HINT: `BLOCK` is known at run time only; make the parameter a constexpr: `BLOCK: tl.constexpr`

# -----
# python-float - float() of a run-time value
# Why: `float` and `int` convert compile-time values only.
# Fix: Write `n.to(tl.float32)`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, a / float(n))

# expect:
# | kernel.py:10:34: error: float: `x` must be known at compile time, got int32 [NotConstexpr]
# |       tl.store(out + at, a / float(n))
# |                                    ^
# | HINT: convert it while the kernel runs: n.to(tl.float32)

# -----
# runtime-shape - a shape from an argument of the launch
# Why: The compiler lays out every block, so its shape must be known before the kernel runs.
# Fix: Use a constexpr `BLOCK` and mask what lies past `n`.

import triton
import triton.language as tl


# tessera: instance copy(x="*fp32:16", out="*fp32:16", n="i32")
@triton.jit
def copy(x, out, n):
    at = tl.arange(0, n)
    tl.store(out + at, tl.load(x + at))

# expect:
# | kernel.py:8:23: error: tl.arange: `end` must be a compile-time integer, got int32 [NotConstexpr]
# |       at = tl.arange(0, n)
# |                         ^
# | HINT: `n` is known at run time only; make the parameter a constexpr: `n: tl.constexpr`

# -----
# static-range-of-argument - unrolling up to a run-time value
# Why: tl.static_range unrolls while compiling and must know how often.
# Fix: Use `range(n)`, or make `n` a tl.constexpr.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    for k in tl.static_range(n):
        a += 1.0
    tl.store(out + at, a)

# expect:
# | kernel.py:10:14: error: tl.static_range needs compile-time integers, got int32 [NotConstexpr]
# |       for k in tl.static_range(n):
# |                ^~~~~~~~~~~~~~~~~~
# | HINT: use range for a loop at run time, or make it a tl.constexpr

# -----
# run-time-field - a run-time value for a constexpr field
# Why: A field under `tl.constexpr` is known while compiling.
# Fix: Annotate the field with `tl.tensor`.

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
    pair = Pair(a, n)
    tl.store(out + at, a)

# expect:
# | kernel.py:19:12: error: field `COUNT` of `Pair` is a tl.constexpr, but the value is int32 [NotConstexpr]
# |       pair = Pair(a, n)
# |              ^~~~~~~~~~
# | HINT: annotate the field with tl.tensor
