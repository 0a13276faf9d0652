# tests/triton/tiles_test.py - find_tile of kernels/tiles.py: every tile of every sequence has one number, whatever the lengths.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import random

import pytest
from launcher import equal, fresh, torch
import triton
import triton.language as tl

import reference as ref

from kernels.tiles import find_tile


@triton.jit
def tiles(CU, OUT, nseq, SIZE: tl.constexpr):
    b, start, length, first = find_tile(CU, nseq, tl.program_id(0), SIZE)
    out = OUT + tl.program_id(0) * 4
    tl.store(out, b)
    tl.store(out + 1, start)
    tl.store(out + 2, length)
    tl.store(out + 3, first)


def check_lengths(lens, size):
    """Each (sequence, first entry) once, the rest empty tiles, and no more of these than sequences."""
    count = sum(lens) // size + len(lens)
    out = fresh(count, 4, dtype=torch.int32)
    tiles[(count,)](ref.prefix(lens), out, len(lens), SIZE=size)
    got, empty = [], 0
    for b, start, length, first in out.tolist():
        if first >= length:
            empty += 1
            continue
        got.append((b, start, length, first))
    want = [(b, sum(lens[:b]), n, first) for b, n in enumerate(lens) for first in range(0, n, size)]
    what = f"find_tile (lens={lens} SIZE={size})"
    equal(what, torch.tensor(got).reshape(-1, 4), torch.tensor(want).reshape(-1, 4))
    assert empty <= len(lens), f"{what}: {empty} empty tiles"


# Empty sequences at every position, one sequence, tiles larger than all of it, exact multiples, a size that is not a power of two.
@pytest.mark.parametrize("size", (1, 16, 21, 64))
@pytest.mark.parametrize("lens", ([1], [0], [0, 0], [64], [0, 15, 5, 0, 64, 1, 0], [21, 42, 63], [1] * 9, [128, 1, 127]), ids=str)
def test_chosen_lengths(lens, size):
    check_lengths(lens, size)


@pytest.mark.parametrize("seed", range(20))
def test_random_lengths(seed):
    generator = random.Random(seed)
    lens = [generator.choice((0, 1, generator.randrange(70))) for _ in range(generator.randrange(1, 12))]
    check_lengths(lens, generator.choice((1, 2, 10, 16, 32)))
