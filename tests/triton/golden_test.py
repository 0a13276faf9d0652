# tests/triton/golden_test.py - the golden vectors of the NSA specification, produced by the kernels.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Two layers: the selection vectors (a score row is injected through a one-query problem whose compressed attention has
exactly these scores) and the tiny three-branch case with every intermediate."""
import math

import pytest
import torch

from launcher import close, equal
from cases import Problem, Shape


def planted(scores, tokens):
    """A problem with l = d = l' = 8, where score j is p[j]: keys on one axis make s_j = ln(score_j), and with lse = 0
    the probability is the score itself. Query t sees the complete blocks; the current one is forced anyway."""
    p = Problem(Shape([tokens], hkv=1, group=1, dim=16, vdim=16, l=8, d=8, lsel=8, n=5, w=1))
    p.q = torch.zeros(tokens, 1, 16)
    p.q[..., 0] = 1.0
    p.scale = 1.0
    keys = torch.zeros(len(scores), 1, 16)
    keys[:, 0, 0] = torch.tensor([math.log(max(x, 1e-30)) for x in scores])
    idx, _ = p.select(keys, torch.zeros(tokens, 1))
    return idx[0], p.ranges(idx)[0]


def compare(what, rows, idx, ranges):
    for t, blocks, spans in rows:
        equal(f"{what} t={t}", idx[t], torch.tensor((blocks + [-1] * 5)[:5], dtype=torch.int32))
        equal(f"{what}.ranges t={t}", ranges[t], torch.tensor((spans + [[0, 0]] * 5)[:5], dtype=torch.int32))


SELECTION = [
    (0, [0], [[0, 1]]),
    (7, [0], [[0, 8]]),
    (8, [0, 1], [[0, 9]]),
    (16, [0, 1, 2], [[0, 17]]),
    (31, [0, 1, 2, 3], [[0, 32]]),
    (39, [0, 1, 2, 3, 4], [[0, 40]]),
    (40, [0, 1, 3, 4, 5], [[0, 16], [24, 41]]),
    (63, [0, 1, 3, 6, 7], [[0, 16], [24, 32], [48, 64]]),
    (100, [0, 3, 10, 11, 12], [[0, 8], [24, 32], [80, 101]]),
    (127, [0, 3, 10, 14, 15], [[0, 8], [24, 32], [80, 88], [112, 128]]),
    (159, [0, 3, 10, 18, 19], [[0, 8], [24, 32], [80, 88], [144, 160]]),
]

TIES = [
    (63, [0, 1, 2, 6, 7], [[0, 24], [48, 64]]),
    (100, [0, 1, 2, 11, 12], [[0, 24], [88, 101]]),
    (159, [0, 1, 2, 18, 19], [[0, 24], [144, 160]]),
]


@pytest.mark.parametrize("scores, rows", (([((37 * j + 11) % 64) / 64 for j in range(20)], SELECTION), ([0.25] * 20, TIES)),
                         ids=("selection", "ties"))
def test_selection(scores, rows):
    compare("selection", rows, *planted(scores, 160))


def test_a_nan_score_loses_to_every_number():
    bad = [float("nan") if j == 3 else 0.5 - j / 64 for j in range(20)]
    p = Problem(Shape([160], hkv=1, group=1, dim=16, vdim=16, l=8, d=8, lsel=8, n=5, w=1))
    p.q, p.scale = torch.ones(160, 1, 16), 1.0
    keys = torch.zeros(20, 1, 16)
    keys[:, 0, 0] = torch.tensor(bad)
    idx, score = p.select(keys, torch.zeros(160, 1))
    equal("nan.scores", torch.isnan(score[0, 159]).nonzero().flatten(), torch.tensor([3]))
    equal("nan", idx[0, 159], torch.tensor([0, 1, 2, 18, 19], dtype=torch.int32))
    equal("nan.rest", idx[0, 47], torch.tensor([0, 1, 2, 4, 5], dtype=torch.int32))     # free blocks 1, 2 and 3


# The tiny case: t, scores of 3 blocks, ranges, then (head 0, head 1) of the three branches.
TINY = [
    (0, (0, 0, 0), [[0, 1]], ((0, 0), (0, 0)), ((-1.917526, -1.134021),) * 2, ((-1.628866, -0.103093),) * 2),
    (2, (0, 0, 0), [[0, 3]], ((0, 0), (0, 0)), ((-1.515887, -1.142843), (-0.304725, 0.344932)),
     ((-1.158862, -0.374100), (0.764031, -1.462086))),
    (3, (4, 0, 0), [[0, 4]], ((-0.041237, 0.237113),) * 2, ((-1.308043, -0.841884), (-0.310113, 0.353563)),
     ((0.441984, -0.630341), (0.479603, -0.672611))),
    (5, (2.764473, 1.235527, 0), [[0, 6]], ((0.017187, 0.295537), (0.040450, 0.318801)),
     ((-0.604594, -0.720664), (0.297692, 0.997525)), ((-0.010674, 0.104090), (-0.929753, 0.507470))),
    (7, (1.915505, 2.084495, 0), [[0, 8]], ((0.068453, 0.346804), (0.085459, 0.363809)),
     ((-0.254988, -0.218373), (-0.135650, 0.534098)), ((0.941428, -0.711446), (0.469411, -0.201564))),
    (9, (1.557075, 1.923786, 0.519139), [[0, 10]], ((0.134842, 0.071435), (0.118588, 0.219557)),
     ((1.467765, -1.419306), (-0.324212, 0.237239)), ((-0.043414, 0.466234), (0.190548, 0.244876))),
    (11, (1.272685, 1.556273, 1.171042), [[0, 12]], ((0.084646, -0.022069), (-0.052061, 0.094358)),
     ((-0.732373, -0.079498), (-0.059502, 0.005124)), ((1.729845, -0.600302), (0.661679, -0.239439))),
]


def fill(a, b, *dims):
    i = torch.arange(math.prod(dims)).double()
    return (4 * (((i * a + b) % 97) / 97 - 0.5)).reshape(dims).float()


def test_three_branches():
    p = Problem(Shape([12], hkv=1, group=2, dim=4, vdim=2, l=4, d=2, lsel=4, n=3, w=3))
    p.q, p.scale = fill(13, 5, 12, 2, 4), 0.5
    for branch, (ka, kb, va, vb) in enumerate(((29, 7, 31, 3), (17, 11, 19, 2), (23, 1, 37, 9))):
        p.k[branch], p.v[branch] = fill(ka, kb, 12, 1, 4), fill(va, vb, 12, 1, 2)
    kc, vc = p.compress(p.k[0], None), p.compress(p.v[0], None)
    oc, lse = p.compressed(kc, vc)
    idx, score = p.select(kc, lse)
    ranges = p.ranges(idx)
    os, ow = p.selected(idx, "select_list_fwd")[0], p.window()[0]
    os2 = p.selected(idx, "select_fwd")[0]
    for t, want, spans, *outs in TINY:
        close(f"tiny.scores t={t}", score[0, t], torch.tensor(want))
        equal(f"tiny.ranges t={t}", ranges[0, t], torch.tensor((spans + [[0, 0]] * 3)[:3], dtype=torch.int32))
        for name, got, values in zip(("cmp", "sel", "win", "sel_token"), (oc, os, ow, os2), (*outs, outs[1])):
            close(f"tiny.{name} t={t}", got[t], torch.tensor(values))
