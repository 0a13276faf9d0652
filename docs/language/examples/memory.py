# docs/language/examples/memory.py - making blocks, loads, stores, block pointers.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Blocks and memory

A masked-out element reads as `other`, or 0 on cpu without it. `boundary_check` and `padding_option` are for block pointers only. Cache and eviction words are checked and kept as attributes."""
import triton
import triton.language as tl


@triton.jit
def ex_arange(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """consecutive int32"""
    tl.store(IOUT + tl.arange(0, N), tl.arange(N, 2 * N))


@triton.jit
def ex_full(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """a block of one value"""
    r = tl.arange(0, N)
    tl.store(OUT + r, tl.full((N,), 1.5, tl.float32) + tl.full([N], n, dtype=tl.float32))


@triton.jit
def ex_zeros(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """a block of zeros"""
    tl.store(OUT + tl.arange(0, N), tl.zeros((N,), dtype=tl.float32) + 1)


@triton.jit
def ex_zeros_like(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """zeros of another block's shape and type"""
    x = tl.load(X + tl.arange(0, N))
    tl.store(OUT + tl.arange(0, N), tl.zeros_like(x) + 2)


@triton.jit
def ex_load(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """elements behind pointers, where a mask allows"""
    r = tl.arange(0, N)
    x = tl.load(X + r, mask=r < n, other=-1.0, cache_modifier=".cg", eviction_policy="evict_last")
    tl.store(OUT + r, x + tl.load(Y))


@triton.jit
def ex_store(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """elements written to memory, where a mask allows"""
    r = tl.arange(0, N)
    tl.store(OUT + r, tl.load(X + r), mask=r % 3 == 0)
    tl.store(OUT + N, 5.0)


@triton.jit
def ex_make_block_ptr(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """a tile of a strided array, with its bounds"""
    block = tl.make_block_ptr(base=X, shape=(10, 20), strides=(20, 1), offsets=(8, 4), block_shape=(4, 16), order=(1, 0))
    x = tl.load(block, boundary_check=(0, 1), padding_option="zero")
    out = tl.make_block_ptr(OUT, (4, 16), (16, 1), (0, 0), (4, 16), (1, 0))
    tl.store(out, x, boundary_check=(0,))


@triton.jit
def ex_advance(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """a block pointer moved"""
    block = tl.make_block_ptr(X, (8, 32), (32, 1), (0, 0), (8, 8), (1, 0))
    total = tl.zeros((8, 8), tl.float32)
    for _ in range(4):
        total += tl.load(block)
        block = tl.advance(block, (0, 8))
    tl.store(OUT + tl.arange(0, 8)[:, None] * 8 + tl.arange(0, 8)[None, :], total)
