# tests/train/torch_losses_test.py - the losses of a run stay next to those of a plain PyTorch program.
# SPDX-License-Identifier: Apache-2.0
import pytest
import torch
from torch_losses import PATTERNS, compare

torch.set_num_threads(1)

ATTENTION = pytest.mark.parametrize("attention", ("dense", "nsa"))
PRECISION = pytest.mark.parametrize("precision", ("fp32", "bf16"))


@ATTENTION
@PRECISION
def test_40_steps(attention, precision):
    assert compare(attention, precision, 40, 0.001, False)["met"]


@ATTENTION
@PRECISION
def test_40_steps_with_tables(attention, precision):
    tables = ("model.value_embeddings=[1]", "model.bigram_embeddings=509")
    assert compare(attention, precision, 40, 0.001, False, *tables)["met"]


@ATTENTION
@PRECISION
def test_300_steps(attention, precision):
    assert compare(attention, precision, 300, 0.001, False)["met"]


@pytest.mark.parametrize("attention", (*PATTERNS, "gated"))
def test_50_steps_of_a_pattern(attention):
    assert compare(attention, "fp32", 50, 0.001, False)["met"]
