# tests/bench/baseline_test.py - NSA in plain torch ops, the baseline of the table of a CPU, compared with a dense masked oracle.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import functools

import pytest
import torch
from peers import nsa_torch_baseline as baseline
from peers.nsa_torch_baseline import D_STR, HKV, LS, L, N, W, attend

S = 2048  # 32 blocks, of which 16 are selected


@functools.cache
def compared():
    """(inputs, the oracle's result)."""
    inputs = baseline.inputs(S)
    return inputs, oracle(*inputs)


def oracle(q, kc, vc, ks, vs, kw, vw, gates):
    """Every branch as dense attention with a mask; blocks are chosen by Eq. 9 from overlaps of tokens, one token at a time."""
    t = torch.arange(S)
    ck, cv = (torch.stack([z[:, :, i:i + L].mean(2) for i in range(0, S - L + 1, D_STR)], 2)[:, :, None] for z in (kc, vc))
    count, blocks = ck.shape[3], S // LS
    seen = torch.arange(count) * D_STR + L <= t[:, None] + 1
    compressed, p = attend(q, ck, cv, seen, True)
    overlap = torch.tensor([[max(0, min(i * D_STR + L, (j + 1) * LS) - max(i * D_STR, j * LS)) / D_STR for j in range(blocks)]
                            for i in range(count)])
    scores, mask = (p.sum(2) @ overlap).double(), torch.zeros(1, HKV, S, S, dtype=torch.bool)
    for h in range(HKV):
        for a in range(S):
            own = a // LS
            forced = {0, own, max(0, own - 1)}
            others = sorted(set(range(own + 1)) - forced, key=lambda j: (-float(scores[0, h, a, j]), j))
            for j in list(forced) + others[:N - len(forced)]:
                mask[0, h, a, j * LS:(j + 1) * LS] = True
    selected, _ = attend(q, ks[:, :, None], vs[:, :, None], (mask & (t <= t[:, None]))[:, :, None])
    window, _ = attend(q, kw[:, :, None], vw[:, :, None], (t <= t[:, None]) & (t > t[:, None] - W))
    return gates[..., :1] * compressed + gates[..., 1:2] * selected + gates[..., 2:] * window


@pytest.mark.parametrize(("variant", "chunk"), [("gather", 0), ("gather", 16), ("mask", 0), ("mask", 512)])
def test_a_variant_is_nsa(variant, chunk):
    inputs, expected = compared()
    error = (baseline.nsa(*inputs, chunk=chunk, variant=variant) - expected).abs().amax((-1, 2))[0]  # of each group and token
    # Scores that are equal up to rounding may select another block.
    assert (error > 1e-4).sum() <= error.numel() // 100
    assert error.median() < 1e-5
