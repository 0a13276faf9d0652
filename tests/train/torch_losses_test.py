# tests/train/torch_losses_test.py - the losses of a run stay next to those of a plain PyTorch program.
# SPDX-License-Identifier: Apache-2.0
import pytest
import torch
from torch_losses import compare

torch.set_num_threads(1)

pytestmark = [pytest.mark.parametrize("attention", ("dense", "nsa")), pytest.mark.parametrize("precision", ("fp32", "bf16"))]


def test_40_steps(attention, precision):
    assert compare(attention, precision, 40, 0.001, False)["met"]


def test_300_steps(attention, precision):
    assert compare(attention, precision, 300, 0.001, False)["met"]
