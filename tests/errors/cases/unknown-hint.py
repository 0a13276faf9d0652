# tests/errors/cases/unknown-hint.py - a misspelt hint
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: A comment that begins with `# tessera:` is read by the compiler.
# Fix: Write `# tessera: instance`.

import triton
import triton.language as tl


# tessera: instanc rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at), mask=at < n)
