# tests/errors/cases/program-axis.py - a fourth axis of the grid
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: A grid has up to three axes: 0, 1 and 2.
# Fix: Use axis 0, 1 or 2.

import triton
import triton.language as tl


# tessera: instance fill(out="*fp32:16")
@triton.jit
def fill(out):
    tl.store(out + tl.program_id(3), 1.0)
