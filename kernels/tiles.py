# kernels/tiles.py - helpers of the kernels: rows of a tile, and the tiles of packed sequences.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Kernels import them by `from kernels.tiles import ...`: tessera looks for the file in the folders above the kernel's, Python
(and so Triton) on its path, which needs the folder that holds kernels/."""
import triton
import triton.language as tl


@triton.jit
def load_rows(ptr, offs, N: tl.constexpr, NP: tl.constexpr):
    """The first NP columns of rows that start at ptr + offs, N elements each; columns N .. NP-1 read as zero."""
    cols = tl.arange(0, NP)
    if N >= NP:
        x = tl.load(ptr + offs[:, None] + cols[None, :])
    else:
        x = tl.load(ptr + offs[:, None] + cols[None, :], mask=cols[None, :] < N, other=0.0)
    return x


@triton.jit
def load_live_rows(ptr, offs, live, N: tl.constexpr, NP: tl.constexpr):
    """load_rows where `live` is set; other rows read as zero."""
    cols = tl.arange(0, NP)
    mask = live[:, None] if N >= NP else live[:, None] & (cols[None, :] < N)
    return tl.load(ptr + offs[:, None] + cols[None, :], mask=mask, other=0.0)


@triton.jit
def store_rows(ptr, offs, x, N: tl.constexpr, NP: tl.constexpr, mask):
    """The first N of NP columns of x to rows that start at ptr + offs, where the row's mask says so, in the type of ptr."""
    cols = tl.arange(0, NP)
    tl.store(ptr + offs[:, None] + cols[None, :], x.to(ptr.dtype.element_ty), mask=mask[:, None] & (cols[None, :] < N))


@triton.jit
def add_rows(ptr, offs, x, N: tl.constexpr, NP: tl.constexpr, mask, ADD: tl.constexpr):
    """store_rows of fp32 x, or with ADD of what is there already plus x."""
    cols = tl.arange(0, NP)
    if ADD:
        x += tl.load(ptr + offs[:, None] + cols[None, :], mask=mask[:, None] & (cols[None, :] < N), other=0.0).to(tl.float32)
    store_rows(ptr, offs, x, N, NP, mask)


@triton.jit
def load_filters(W, a, L: tl.constexpr, STRIDE: tl.constexpr, D: tl.constexpr, DP: tl.constexpr):
    """Rows a and STRIDE + a of the L filters [L, D] of compression, in fp32; zeros behind the last. One load: two of DP columns would
    be done by more threads than there are columns."""
    d = tl.arange(0, DP)
    place = a + tl.arange(0, 2) * STRIDE
    both = tl.load(W + d[:, None] + (place * D)[None, :], mask=(d < D)[:, None] & (place < L)[None, :], other=0.0)
    return tl.split(both.to(tl.float32))


@triton.jit
def find_tile(CU, nseq, tile, SIZE: tl.constexpr):
    """Tile number -> its sequence, that one's first entry and length, and the tile's first entry in the sequence.

    CU are prefix sums, SIZE the entries of a tile. Sequence b owns the tiles from CU[b] // SIZE + b on, which is enough for
    every length; the last of them may be empty: it starts at the length or behind it.
    """
    low = tile * 0
    high = low + nseq - 1
    while low < high:                            # the last sequence that starts at this tile or before
        middle = (low + high + 1) // 2
        before = tl.load(CU + middle)
        tl.assume(before >= 0)                   # divisions need no sign
        if before // SIZE + middle <= tile:
            low = middle
        else:
            high = middle - 1
    start = tl.load(CU + low)
    tl.assume(start >= 0)
    return low, start, tl.load(CU + low + 1) - start, (tile - start // SIZE - low) * SIZE


@triton.jit
def pick_block(row, r, own, NSEL: tl.constexpr):
    """Entry r of a token's NSEL block numbers at `row`, or -1 where the token attends to no keys because of it.

    That is so for a negative number, for a block after the token's own block `own`, and for a block that an earlier entry names.
    """
    NP: tl.constexpr = triton.next_power_of_2(NSEL) if NSEL > 1 else 2
    slot = tl.arange(0, NP)
    block = tl.load(row + r, mask=r < NSEL, other=-1)
    earlier = tl.load(row + slot, mask=(slot < r) & (slot < NSEL), other=-1)
    again = tl.max(tl.where(earlier == block, 1, 0), 0)
    return tl.where((block >= 0) & (block <= own) & (again == 0), block, -1)


@triton.jit
def part_count(length, parts, SPAN: tl.constexpr):
    """Of a tile of compressed tokens of a sequence of `length` tokens: parts of the tokens, one for every SPAN and at most `parts`."""
    return tl.minimum((length + SPAN - 1) // SPAN, parts)
