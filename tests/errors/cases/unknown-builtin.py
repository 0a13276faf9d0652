# tests/errors/cases/unknown-builtin.py - a misspelt function of the language
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: The page of builtins lists every function there is.
# Fix: Write `tl.load`.

import triton
import triton.language as tl


# tessera: instance copy(x="*fp32:16", out="*fp32:16", BLOCK=128)
@triton.jit
def copy(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.laod(x + at))
