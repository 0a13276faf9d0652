# tests/errors/cases/tabs-and-spaces.py - tabs and spaces mixed in the indentation
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: How wide a tab is depends on the editor, so Python does not accept the mixture either.
# Fix: Indent with four spaces everywhere.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    if n > 0:
	tl.store(out + at, a)
