# tests/errors/cases/block-pointer-rank.py - a block pointer whose parts differ in rank
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: shape, strides, offsets, block_shape and order have one entry for each dimension.
# Fix: Give two offsets: `(0, 0)`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", M="i32", N="i32", BM=16, BN=32)
@triton.jit
def rows(x, out, M, N, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_block_ptr(x, (M, N), (N, 1), (0,), (BM, BN), (1, 0))
    tl.store(out, tl.sum(tl.load(source)))
