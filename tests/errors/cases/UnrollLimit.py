# tests/errors/cases/UnrollLimit.py - kernel files that cause UnrollLimit, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# unroll-too-far - unrolling a long loop
# Why: tl.static_range writes the body out once for each round.
# Fix: Use `range`, which compiles the body once.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    for k in tl.static_range(100000):
        a += 1.0
    tl.store(out + at, a)

# expect:
# | kernel.py:10:14: error: tl.static_range would unroll more than 4096 times [UnrollLimit]
# |       for k in tl.static_range(100000):
# |                ^~~~~~~~~~~~~~~~~~~~~~~
# | HINT: use range: it compiles the body once
