# tests/errors/cases/misspelt-module.py - a decorator of a module that is not imported
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: Python would not load this file either: `tritkn` is nothing. A helper is looked at like a kernel.
# Fix: Write `@triton.jit`.

import triton
import triton.language as tl


@tritkn.jit
def twice(x):
    return x * 2


# tessera: instance rows(x="*fp32:16", BLOCK=128)
@triton.jit
def rows(x, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, twice(tl.load(x + at)))
