# tests/simulator/needed_test.py - the steps that bench/padding.py takes from the kernels' text, compared with programs that ran.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""At 4,096 tokens of 64/64 with 6 heads of a group: programs of unlike numbers of steps must execute as many tensor instructions as
bench/padding.py predicts, or it throws; and none may need more than it executes."""
import sys

import pytest
from repository import ROOT

sys.path.insert(0, str(ROOT / "bench"))
import layer  # noqa: E402
import padding  # noqa: E402

# Pairs that are seen, counted one by one in another way: sums of the definitions of docs/nsa.md.
PAIRS = dict(dense=4096 * 4097 // 2, window=4096 * 512 - 512 * 511 // 2, cmp=sum((t - 15) // 16 for t in range(31, 4096)),
             select_=sum(64 * min(t // 64, 15) + t % 64 + 1 for t in range(4096)))


@pytest.fixture(scope="module")
def one():
    layer.launcher.use(compiler="tessera")
    made = layer.Layer(6, 1, 64, 64, 4096, idx=layer.selection(4096, "sink"))
    return made


@pytest.mark.parametrize("name", padding.KERNELS)
def test_steps(name, one):
    executed, needed, programs = padding.count(name, one)
    assert padding.pairs(name, one) == PAIRS[next((key for key in PAIRS if name.startswith(key)), "cmp")]
    assert needed <= executed <= 1.4 * needed
    assert programs > (1 if name != "select_bwd_dkdv" else 0)
