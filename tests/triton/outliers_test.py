# tests/triton/outliers_test.py - one wrong element of 40,000 fails every comparison of the Python tests.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""The elements are bf16: the RMS error of all of them hides the wrong one."""
import re

import launcher
import pytest
from launcher import torch
from outliers import close_enough, outliers
from repository import load

LIMIT = launcher.LIMITS[torch.bfloat16]
SHAPE = (200, 200)


def results():
    """Right results, rounded to bf16: normal numbers in rows of sizes from 1 to 1/100, as of attention over more and more keys."""
    generator = torch.Generator().manual_seed(5)
    size = torch.linspace(0, -2, SHAPE[0], dtype=torch.float64)
    want = torch.randn(SHAPE, generator=generator, dtype=torch.float64) * (10 ** size)[:, None]
    return want.bfloat16(), want


def wrong_ones():
    """Results with one wrong element: its negative, 0, a large number, infinity, NaN."""
    got, want = results()
    size = want.square().mean().sqrt().item()
    generator = torch.Generator().manual_seed(6)
    for _ in range(20):
        at = tuple(torch.randint(0, n, (), generator=generator).item() for n in SHAPE)
        if want[at].abs() < 0.1 * max(size, want[at[0]].square().mean().sqrt().item()):
            continue
        for value in (-got[at].item(), 0.0, -10 * size, float("inf"), float("nan")):
            wrong = got.clone()
            wrong[at] = value
            yield wrong, want


def test_the_rms_error_hides_it():
    hidden = [1 for got, want in wrong_ones() if ((got - want).square().mean() / want.square().mean()).sqrt() <= LIMIT]
    assert len(hidden) > 5


def test_right_results_pass():
    got, want = results()
    assert close_enough(got, want, LIMIT) == ""
    assert not outliers(got, want, LIMIT).any()
    special = torch.tensor([float("-inf"), 1.0, float("nan")])
    assert not outliers(special, special, 1e-5).any()
    nothing = torch.zeros(0, 3)
    assert close_enough(nothing, nothing, 1e-5) == ""
    # Where 0 is right, differences are absolute.
    assert close_enough(torch.full((4,), 1e-6), torch.zeros(4), 1e-5) == ""
    assert close_enough(torch.full((4,), 1e-4), torch.zeros(4), 1e-5) != ""


def test_the_shared_rule():
    for got, want in wrong_ones():
        assert outliers(got, want, LIMIT).sum() == 1
        assert re.search("element|RMS", close_enough(got, want, LIMIT))


def test_the_check_of_the_launcher():
    for got, want in wrong_ones():
        with pytest.raises(AssertionError):
            launcher.check("x", got, want, LIMIT)
    launcher.check("x", *results(), LIMIT)


def test_exact_comparisons_of_the_launcher():
    want = torch.tensor([1.0, 2.0])
    for got in (torch.tensor([1.0, 2.5]), torch.tensor([1.0]), torch.tensor([1.0, float("nan")])):
        with pytest.raises(AssertionError):
            launcher.equal("x", got, want)
    for got in (torch.tensor([1.0, 2.00001]), torch.tensor([float("nan"), 2.0])):
        with pytest.raises(AssertionError):
            launcher.close("x", got, want)
    launcher.equal("x", want.clone(), want)
    launcher.close("x", torch.tensor([1.0, 2.0000005]), want)


def test_the_tests_of_the_ops():
    ops = load("tests/python/ops_test.py")
    for got, want in wrong_ones():
        with pytest.raises(AssertionError):
            ops.close(got, want, "x", LIMIT)
    ops.close(*results(), "x", LIMIT)
