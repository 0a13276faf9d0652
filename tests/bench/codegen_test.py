# tests/bench/codegen_test.py - the comparison of our results with Triton's that `scripts/bench codegen` makes.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import math

import torch
from codegen import measure


def rows_of(dtype):
    """200 x 200 normally distributed elements."""
    return torch.randn(200, 200, generator=torch.Generator().manual_seed(1)).to(dtype)


def changed(want, value):
    """`want`, in which the element whose size is nearest to the RMS has another value."""
    got = want.clone()
    at = (want.double().abs() - want.double().square().mean().sqrt()).abs().argmin()
    got.view(-1)[at] = value(got.view(-1)[at])
    return got


def test_a_single_element_that_the_rms_error_hides():
    want = rows_of(torch.bfloat16)
    got = changed(want, lambda x: -x)
    assert (got.float() - want.float()).square().mean().sqrt() < measure.LIMITS[torch.bfloat16] * want.float().square().mean().sqrt()
    # |2 w| over 6 * 3e-2 * (size + |w|), where size is the RMS of the element's row.
    assert 3 < measure.difference([got], [want]) < 2 / (6 * 3e-2)


def test_rounding_is_below_the_limits():
    want = rows_of(torch.float32)
    for dtype in (torch.bfloat16, torch.float16):
        assert measure.difference([(want * (1 + torch.finfo(dtype).eps)).to(dtype)], [want.to(dtype)]) < 1
    cancels = want.to(torch.bfloat16)
    cancels[0, 0] = 0  # its row has the size of the others
    assert measure.difference([changed(cancels, lambda x: x * 1.01)], [cancels]) < 1


def test_special_values():
    want = torch.tensor([[1.0, math.inf, math.nan, -math.inf]])
    assert measure.difference([want.clone()], [want]) == 0
    assert measure.difference([torch.tensor([[1.0, -math.inf, math.nan, -math.inf]])], [want]) == math.inf
    assert measure.difference([torch.zeros(0, 3)], [torch.zeros(0, 3)]) == 0
    # Where 0 is right, differences are absolute.
    assert measure.difference([torch.full((4,), 1e-3)], [torch.zeros(4)]) < 1 < measure.difference([torch.ones(4)], [torch.zeros(4)])
