# tests/errors/cases/try-statement.py - a statement that kernels do not have
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: The language is a subset of Python: docs/language/syntax.md lists its statements.
# Fix: Leave the `try` out: nothing in a kernel raises.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    try:
        tl.store(out + at, a)
    except ValueError:
        pass
