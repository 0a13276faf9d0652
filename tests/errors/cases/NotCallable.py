# tests/errors/cases/NotCallable.py - kernel files that cause NotCallable, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# call-number - calling a number
# Why: `n` is an argument of the kernel, not a function.
# Fix: Did an operator get lost? Write `n * (at + 1)`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + n (at + 1), a)

# expect:
# | kernel.py:10:20: error: int32 cannot be called [NotCallable]
# |       tl.store(out + n (at + 1), a)
# |                      ^
# | HINT: is an operator missing before the bracket?

# -----
# call-type - converting by calling a type
# Why: A type of the language is not a function.
# Fix: Write `at.to(tl.float32)`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, a * tl.float32(at))

# expect:
# | kernel.py:10:28: error: the type fp32 cannot be called [NotCallable]
# |       tl.store(out + at, a * tl.float32(at))
# |                              ^~~~~~~~~~
# | HINT: convert with at.to(tl.float32)
