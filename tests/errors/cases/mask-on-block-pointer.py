# tests/errors/cases/mask-on-block-pointer.py - a mask on a block pointer
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: A block pointer knows the shape of the array and checks by itself.
# Fix: Use `boundary_check=(0, 1)`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", M="i32", N="i32", BM=16, BN=32)
@triton.jit
def rows(x, out, M, N, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_block_ptr(x, (M, N), (N, 1), (0, 0), (BM, BN), (1, 0))
    a = tl.load(source, mask=M > 0)
    tl.store(out, tl.sum(a))
