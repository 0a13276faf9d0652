# tests/errors/cases/loop-changes-constexpr.py - changing a constexpr in a loop
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: A tl.constexpr parameter is known when the kernel is compiled; the loop changes it while
#   it runs.
# Fix: Copy it to another name before the loop: `step = BLOCK`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    for k in range(n):
        a += tl.load(x + BLOCK + at)
        BLOCK = BLOCK * 2
    tl.store(out + at, a)
