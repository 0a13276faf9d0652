# tests/triton/inverse_test.py - the inverse index of selected blocks compared with lists made token by token, for any indices.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import pytest
import torch

from cases import Problem, Shape
from inverse import inverse_index


@pytest.mark.parametrize("lens, lsel, n, hkv", (([0, 39, 0, 0, 1, 18, 0], 8, 4, 2), ([1], 16, 1, 1), ([0, 0, 5], 7, 6, 1), ([70], 8, 3, 1)))
def test_inverse_index(lens, lsel, n, hkv):
    generator = torch.Generator().manual_seed(5)
    p = Problem(Shape(lens, hkv=hkv, group=1, lsel=lsel, n=n))
    blocks = max(lens) // lsel + 1
    # The indices that nsa_select writes: ascending, -1 after the last; and those that a caller may pass: any order, duplicates, -1 between, blocks
    # after the token and blocks that no sequence has.
    wild = torch.randint(-1, blocks + 3, (hkv, p.T, n), generator=generator, dtype=torch.int32)
    kinds = {"wild": wild, "first": torch.zeros_like(wild), "none": torch.full_like(wild, -1), "far": torch.full_like(wild, (1 << 31) - 1)}
    for what, idx in kinds.items():
        for bt in (4, 16) if what == "wild" else (8,):
            inverse_index(p, idx, bt, bc=8, br=4)
    inverse_index(p, wild, 4, bc=64, br=16)      # counts that several warps sum; of [70] in two steps
