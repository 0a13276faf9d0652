# tests/errors/cases/LoopCarriedType.py - kernel files that cause LoopCarriedType, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# half-accumulator - a float16 accumulator that becomes float32
# Why: `total` begins as float16, and float16 plus float32 is float32.
# Fix: Begin with float32.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    total = tl.zeros((BLOCK,), tl.float16)
    for k in range(n):
        total += tl.load(x + k * BLOCK + at)
    tl.store(out + at, total)

# expect:
# | kernel.py:12:9: error: `total` is fp16[128] before the loop but becomes fp32[128] in it [LoopCarriedType]
# |           total += tl.load(x + k * BLOCK + at)
# |           ^~~~~
# | HINT: begin with tl.float32 before the loop, or convert back in it: .to(tl.float16)

# -----
# loop-changes-constexpr - changing a constexpr in a loop
# Why: A tl.constexpr parameter is known when the kernel is compiled; the loop changes it while
#   it runs.
# Fix: Copy it to another name before the loop: `step = BLOCK`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    for k in range(n):
        a += tl.load(x + BLOCK + at)
        BLOCK = BLOCK * 2
    tl.store(out + at, a)

# expect:
# | kernel.py:12:9: error: `BLOCK` is constexpr 128 before the loop but becomes int32 in it [LoopCarriedType]
# |           BLOCK = BLOCK * 2
# |           ^~~~~
# | HINT: a compile-time value cannot change in a loop; copy it to another name before the loop

# -----
# loop-changes-shape - an accumulator that grows in a loop
# Why: A loop is compiled once for all rounds, so what it carries has one shape: `total` begins
#   as one number.
# Fix: Begin with `total = tl.zeros((BLOCK,), tl.float32)`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    total = 0.0
    for k in range(n):
        total += tl.load(x + k * BLOCK + at)
    tl.store(out + at, total)

# expect:
# | kernel.py:12:9: error: `total` is fp32 before the loop but becomes fp32[128] in it [LoopCarriedType]
# |           total += tl.load(x + k * BLOCK + at)
# |           ^~~~~
# | HINT: begin with `total = tl.zeros([128], tl.float32)` before the loop

# -----
# loop-changes-type - a variable that changes its type in a loop
# Why: A loop is compiled once for all rounds, so what it carries has one type: `total` begins
#   as an integer.
# Fix: Begin with `total = 0.0`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    total = 0
    for k in range(n):
        total += 0.5
    tl.store(out + at, a * total)

# expect:
# | kernel.py:12:9: error: `total` is int32 before the loop but becomes fp32 in it [LoopCarriedType]
# |           total += 0.5
# |           ^~~~~
# | HINT: begin with a float before the loop, as in `total = 0.0`
