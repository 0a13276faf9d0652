# tests/errors/cases/BadReturn.py - kernel files that cause BadReturn, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# return-in-loop - a return inside a loop
# Why: A loop of a kernel runs through all its rounds.
# Fix: Put what must not happen any more under an `if`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    for k in range(n):
        if k > 10:
            return
        tl.store(out + at, a + k)

# expect:
# | kernel.py:12:13: error: `return` inside a loop is not supported [BadReturn]
# |               return
# |               ^~~~~~
# | HINT: guard the rest of the body with `if` instead

# -----
# return-types - a helper that returns two types
# Why: A helper is compiled into its caller, where its value has one type.
# Fix: Return `0.0` on the second path.

import triton
import triton.language as tl


@triton.jit
def weight(n):
    if n > 1000:
        return 0.5
    return 0


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, a * weight(n))

# expect:
# | kernel.py:9:5: error: `weight` returns fp32 on one path and int32 on another [BadReturn]
# |       return 0
# |       ^~~~~~~~
# | kernel.py:17:28: note: called from `rows`
# |       tl.store(out + at, a * weight(n))
# |                              ^~~~~~~~~
# | HINT: every path must return the same type: make both floats: 1.0 instead of 1, or .to(tl.float32)

# -----
# return-value - a kernel that returns a value
# Why: A kernel runs as many programs at once; no caller takes what one of them returns.
# Fix: Write the result to memory with tl.store.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    return a * 2.0

# expect:
# | kernel.py:10:5: error: a kernel returns nothing, got fp32[128] [BadReturn]
# |       return a * 2.0
# |       ^~~~~~~~~~~~~~
# | HINT: write the result to memory with tl.store, and `return` without a value
