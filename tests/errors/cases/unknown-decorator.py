# tests/errors/cases/unknown-decorator.py - a decorator that tessera does not know
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: Kernels are decorated with triton.jit, triton.autotune and triton.heuristics.
# Fix: Remove the decorator.

import triton
import triton.language as tl

import functools


@functools.lru_cache
# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, a)
