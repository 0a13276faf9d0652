# tests/errors/cases/UnknownKeyword.py - kernel files that cause UnknownKeyword, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# unknown-keyword - a misspelt keyword
# Why: tl.load has no argument of this name.
# Fix: Write `mask=`.

import triton
import triton.language as tl


# tessera: instance copy(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def copy(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    a = tl.load(x + at, maks=at < n)
    tl.store(out + at, a, mask=at < n)

# expect:
# | kernel.py:9:25: error: tl.load has no argument `maks` [UnknownKeyword]
# |       a = tl.load(x + at, maks=at < n)
# |                           ^~~~~~~~~~~
# | HINT: did you mean `mask`?

# -----
# no-such-field - a field that the class does not have
# Why: `tl.aggregate_replace` takes the fields of the class by name.
# Fix: Check the spelling.

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
    pair = tl.aggregate_replace(Pair(a, 4), ofset=a)
    tl.store(out + at, a)

# expect:
# | kernel.py:19:45: error: `Pair` has no argument `ofset` [UnknownKeyword]
# |       pair = tl.aggregate_replace(Pair(a, 4), ofset=a)
# |                                               ^~~~~~~
# | HINT: did you mean `offset`?
