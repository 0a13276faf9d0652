# tests/errors/cases/import-module.py - importing a kernel file as a module
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: From a kernel file, functions and constants are imported one by one.
# Fix: Write `from .activations import relu`.

import triton
import triton.language as tl

from . import activations


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, activations.relu(a))
