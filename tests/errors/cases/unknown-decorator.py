# tests/errors/cases/unknown-decorator.py - a decorator of the function of a kernel
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: A decorator below `@triton.jit` gives it another function than the one that is written. One
#   above it wraps the launch and does not change the code.
# Fix: Remove the decorator, or write it above `@triton.jit`.

import triton
import triton.language as tl

import functools


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
@functools.lru_cache
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, a)
