# tests/errors/cases/BadCondition.py - kernel files that cause BadCondition, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# if-on-block - an `if` on a whole block
# Why: The condition has one truth value for each element, and an `if` takes one way for all.
# Fix: Choose elementwise: `a = tl.where(a < 0.0, 0.0, a)`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    if a < 0.0:
        a = 0.0
    tl.store(out + at, a)

# expect:
# | kernel.py:10:8: error: `if` needs one truth value, got int1[128] [BadCondition]
# |       if a < 0.0:
# |          ^~~~~~~
# | HINT: choose elementwise: tl.where(a < 0.0, ..., ...); or reduce a block first, as with tl.max

# -----
# if-aggregate - a test of the object of an aggregate
# Why: An aggregate has no truth value.
# Fix: Test a field, or write `mean is not None`.

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
    if mean:
        tl.store(out + at, mean.total)

# expect:
# | kernel.py:16:8: error: `if` cannot test aggregate Mean [BadCondition]
# |       if mean:
# |          ^~~~
# | HINT: name the field: mean.total
