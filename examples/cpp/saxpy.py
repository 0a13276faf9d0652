# examples/cpp/saxpy.py - a * x + y, the kernel of main.cpp.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl


@triton.jit
def saxpy(X, Y, OUT, a, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = at < n
    tl.store(OUT + at, a * tl.load(X + at, mask=live) + tl.load(Y + at, mask=live), mask=live)
