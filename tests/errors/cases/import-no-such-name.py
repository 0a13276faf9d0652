# tests/errors/cases/import-no-such-name.py - importing a name that the file does not define
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: The other kernel file has no function or constant of this name.
# Fix: Import `relu`.

import triton
import triton.language as tl

from .activations import rellu


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, rellu(a))
