# tests/errors/cases/missing-import.py - a file that does not import triton.language
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: The names `triton` and `tl` come from the two imports at the top.
# Fix: Write `import triton.language as tl`.

import triton


# tessera: instance fill(out="*fp32:16")
@triton.jit
def fill(out):
    tl.store(out, 1.0)
