# tests/errors/cases/missing-tl.py - a function of the language without `tl.`
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: `arange` is no function of Python; the kernel language lives in the module `tl`.
# Fix: Write `tl.arange(0, BLOCK)`.

import triton
import triton.language as tl


# tessera: instance fill(out="*fp32:16", BLOCK=128)
@triton.jit
def fill(out, BLOCK: tl.constexpr):
    at = arange(0, BLOCK)
    tl.store(out + at, 1.0)
