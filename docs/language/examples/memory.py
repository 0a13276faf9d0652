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


@triton.jit
def ex_make_tensor_descriptor(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """a strided array that is read and written in blocks; outside it elements read as 0 or NaN and are not written"""
    rows = tl.make_tensor_descriptor(X, shape=[10, 20], strides=[20, 1], block_shape=[4, 16], padding_option="nan")
    out = tl.make_tensor_descriptor(OUT, [7, 30], [32, 1], [4, 16])
    out.store([4, 16], rows.load([8, 4]))
    tl.store(IOUT, rows.shape[0] + rows.strides[0].to(tl.int32) + rows.block_shape[1])


@triton.jit
def ex_load_tensor_descriptor(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """a block, from coordinates that may lie outside"""
    rows = tl.make_tensor_descriptor(X, [10, n], [64, 1], [8, 16])
    x = tl.load_tensor_descriptor(rows, [tl.program_id(0) * 8 - 4, 48])
    tl.store(OUT + (tl.program_id(0) * 8 + tl.arange(0, 8)[:, None]) * 16 + tl.arange(0, 16)[None, :], x)


@triton.jit
def ex_store_tensor_descriptor(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """a block written, converted to the type of the memory"""
    out = tl.make_tensor_descriptor(IOUT, shape=[n], strides=[1], block_shape=[N])
    tl.store_tensor_descriptor(out, [0], tl.load(X + tl.arange(0, N)) * 100)


@triton.jit
def ex_descriptor_load(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """of a descriptor: load_tensor_descriptor"""
    planes = tl.make_tensor_descriptor(X, [3, 7, 20], [160, 20, 1], [2, 4, 16])
    x = tl.zeros((2, 4, 16), tl.float32)
    for i in range(3):
        x += planes.load([i, 2 * i, 8]) * (i + 1)
    tl.store(OUT + tl.arange(0, 128), tl.reshape(x, (128,)))


@triton.jit
def ex_descriptor_store(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """of a descriptor: store_tensor_descriptor"""
    out = tl.make_tensor_descriptor(OUT, [13, 40], [40, 1], [8, 32])
    x = tl.load(X + tl.arange(0, 8)[:, None] * 32 + tl.arange(0, 32)[None, :])
    if n > 3:
        out.store([8, 16], x)
    out.store([-6, -16], x + 1)


@triton.jit
def ex_descriptor_gather(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """of a descriptor of one row: rows picked by index, from one column on"""
    rows = tl.make_tensor_descriptor(X, [10, 20], [20, 1], [1, 16])
    x = rows.gather(tl.arange(0, 16) * 5 % 16 - 2, 8)
    tl.store(OUT + tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :], x)


@triton.jit
def ex_descriptor_scatter(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """of a descriptor of one row: rows written by index, from one column on"""
    rows = tl.make_tensor_descriptor(OUT, [10, 20], [20, 1], [1, 16])
    x = tl.load(X + tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :])
    rows.scatter(x, tl.arange(0, 16) * 5 % 16 - 2, 8)
