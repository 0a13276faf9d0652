# tests/errors/cases/import-not-found.py - importing from a file that does not exist
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: Kernel files are looked up beside the file that imports them.
# Fix: Check the name of the file.

import triton
import triton.language as tl

from .activation import relu


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, relu(a))
