# tests/errors/cases/misspelt-type-argument.py - a constexpr argument that names no type
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: A constexpr holds a number, a bool, a string, a type, None or a tuple of them; `tl.float33` is none.
# Fix: Write `TYPE=tl.float32`.

import triton
import triton.language as tl


# tessera: instance rows(out="*fp32:16", TYPE=tl.float33, BLOCK=128)
@triton.jit
def rows(out, TYPE: tl.constexpr, BLOCK: tl.constexpr):
    tl.store(out + tl.arange(0, BLOCK), tl.zeros((BLOCK,), TYPE))
