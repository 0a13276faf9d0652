# tests/errors/cases/BranchType.py - kernel files that cause BranchType, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# arms-differ - an `if` that leaves a variable with two types
# Why: After the `if` a variable has one type, whichever way was taken.
# Fix: Write `1.0` in the first arm.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    if n > 1000:
        scale = 1
    else:
        scale = 0.5
    tl.store(out + at, a * scale)

# expect:
# | kernel.py:13:9: error: `scale` is int32 in one arm and fp32 in the other [BranchType]
# |           scale = 0.5
# |           ^~~~~
# | HINT: make both floats: 1.0 instead of 1, or .to(tl.float32)

# -----
# ternary-differs - a conditional expression of two types
# Why: Both sides of `x if c else y` must have one type.
# Fix: Write `0.0` for `0`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    scale = 0.5 if n > 1000 else 0
    tl.store(out + at, a * scale)

# expect:
# | kernel.py:10:13: error: the two sides of `if else` are fp32 and int32 [BranchType]
# |       scale = 0.5 if n > 1000 else 0
# |               ^~~~~~~~~~~~~~~~~~~~~~
# | HINT: make both floats: 1.0 instead of 1, or .to(tl.float32)

# -----
# aggregates-differ - an `if` that leaves a variable with two classes
# Why: After the `if` a variable has one class, also where the classes have the same fields.
# Fix: Use one class, or two variables.

import triton
import triton.language as tl


@triton.aggregate
class Mean:
    total: tl.tensor


@triton.aggregate
class Sum:
    total: tl.tensor


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if n > 3:
        result = Mean(tl.load(x + at))
    else:
        result = Sum(tl.load(x + at))
    tl.store(out + at, result.total)

# expect:
# | kernel.py:22:9: error: `result` is aggregate Mean in one arm and aggregate Sum in the other [BranchType]
# |           result = Sum(tl.load(x + at))
# |           ^~~~~~
# | HINT: give both the same form, or use another name
