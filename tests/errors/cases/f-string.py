# tests/errors/cases/f-string.py - an f-string of a run-time value
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: The text would have to be made while the kernel runs.
# Fix: Pass the value beside the text: `tl.device_print("n", n)`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.device_print(f"n is {n}")
    tl.store(out + at, a)
