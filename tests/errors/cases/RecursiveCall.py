# tests/errors/cases/RecursiveCall.py - kernel files that cause RecursiveCall, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# recursion - a function that calls itself
# Why: Helpers are compiled into their callers, and this would never end.
# Fix: Write a loop.

import triton
import triton.language as tl


@triton.jit
def power(x, k):
    if k == 0:
        return x
    return x * power(x, k - 1)


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, power(a, n))

# expect:
# | kernel.py:9:16: error: `power` calls itself [RecursiveCall]
# |       return x * power(x, k - 1)
# |                  ^~~~~~~~~~~~~~~
# | kernel.py:17:24: note: called from `rows`
# |       tl.store(out + at, power(a, n))
# |                          ^~~~~~~~~~~
# | HINT: helpers are inlined; use a loop
