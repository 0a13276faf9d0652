# tests/errors/cases/InvalidText.py - kernel files that cause InvalidText, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# invalid-character - a character that is not part of the language
# Why: Text copied from a page or a chat may hold quotes and dashes that only look right.
# Fix: Type the minus sign: `at - 1`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at − 1, a)

# expect:
# | kernel.py:10:23: error: unexpected character `−` [InvalidText]
# |       tl.store(out + at − 1, a)
# |                         ^
# | HINT: names and operators are ASCII; other characters belong into comments and strings
