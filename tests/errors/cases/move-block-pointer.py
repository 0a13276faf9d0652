# tests/errors/cases/move-block-pointer.py - moving a block pointer with `+`
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: A block pointer has one offset for each dimension.
# Fix: Write `source = tl.advance(source, (0, BN))`.

import triton
import triton.language as tl


# tessera: instance rows(x="*fp32:16", out="*fp32:16", M="i32", N="i32", BM=16, BN=32)
@triton.jit
def rows(x, out, M, N, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_block_ptr(x, (M, N), (N, 1), (0, 0), (BM, BN), (1, 0))
    a = tl.load(source)
    source = source + BN
    tl.store(out, tl.sum(a + tl.load(source)))
