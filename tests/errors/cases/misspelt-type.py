# tests/errors/cases/misspelt-type.py - a type that does not exist, in a constant of the file
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: `tl.float33` is no type; constants may name types that kernels use.
# Fix: Write `tl.float32`.

import triton
import triton.language as tl

ACC = tl.float33


# tessera: instance rows(out="*fp32:16", BLOCK=128)
@triton.jit
def rows(out, BLOCK: tl.constexpr):
    tl.store(out + tl.arange(0, BLOCK), tl.zeros((BLOCK,), ACC))
