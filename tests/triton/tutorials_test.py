# tests/triton/tutorials_test.py - kernels/tutorials and the template of `tessera new` under Triton's interpreter.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import subprocess
import sys

import pytest
from launcher import ROOT, cdiv, check, fresh, launch

import torch

FILE = "tutorials/dilated_window.py"
LENGTHS, H, G, D, W, STEP, BM, BN = [1, 0, 45], 2, 2, 16, 5, 3, 32, 16


def reference(q, k, v, lengths):
    """fp64 attention to the keys t, t - STEP, ... , W of them."""
    outputs, sums, start = [], [], 0
    for length in lengths:
        part = slice(start, start + length)
        start += length
        back = torch.arange(length)[:, None] - torch.arange(length)
        seen = (back >= 0) & (back % STEP == 0) & (back < W * STEP)
        s = torch.einsum("thd,shd->hts", q[part], k[part].repeat_interleave(G, 1)) / D ** 0.5
        s = s.masked_fill(~seen, float("-inf"))
        sums.append(s.logsumexp(-1))
        outputs.append(torch.einsum("hts,shd->thd", s.softmax(-1), v[part].repeat_interleave(G, 1)))
    return torch.cat(outputs), torch.cat(sums, 1)


def test_dilated_window():
    torch.manual_seed(1)
    tokens, longest, batch = sum(LENGTHS), max(LENGTHS), len(LENGTHS)
    cu = torch.tensor([0] + LENGTHS).cumsum(0).to(torch.int32)
    q, k, v, do = (torch.randn(tokens, h, D) for h in (H * G, H, H, H * G))
    wide = [x.double().requires_grad_() for x in (q, k, v)]
    want, sums = reference(*wide, LENGTHS)
    gradients = torch.autograd.grad((want * do).sum(), wide)
    sizes = dict(G=G, W=W, STEP=STEP, D=D, DP=D, E=D, EP=D)
    strides = lambda *xs: [s for x in xs for s in x.stride()[:2]]
    scale = D ** -0.5
    rows = cdiv(longest * G, BM), H, batch
    for name, grid, tiles in [("dilated_window", rows, dict(BM=BM, BN=BN)),
                              ("dilated_window_ref", (longest, H * G, batch), {})]:
        o, lse = fresh(tokens, H * G, D), fresh(H * G, tokens)
        launch(FILE, name, grid, q, k, v, o, lse, cu, scale, tokens, *strides(q, k, v, o), **sizes, **tiles)
        check(name + " o", o, want, 1e-5)
        check(name + " lse", lse, sums, 1e-5)
    delta = (o * do).sum(-1).T.contiguous()
    dq, dk, dv = (fresh(*x.shape) for x in (q, k, v))
    launch(FILE, "dilated_window_bwd_dq", rows, q, k, v, do, lse, delta, dq, cu, scale, tokens,
           *strides(q, k, v, do, dq), **sizes, BM=BM, BN=BN)
    launch(FILE, "dilated_window_bwd_dkdv", (cdiv(longest, BN), H, batch), q, k, v, do, lse, delta, dk, dv, cu, scale, tokens,
           *strides(q, k, v, do, dk, dv), **sizes, BM=BM, BN=BN)
    for name, got, expected in zip(("dq", "dk", "dv"), (dq, dk, dv), gradients):
        check("dilated_window_bwd " + name, got, expected, 1e-5)


@pytest.mark.parametrize("rule, status", (("(pos > t - W)", 0), ("(pos > t - W - 1)", 1)), ids=("right mask", "wrong mask"))
def test_template(rule, status, tmp_path):
    """The files as `tessera new kernel pattern` writes them; their own test passes, and fails for a wrong mask."""
    for source, target in [("kernel.py", "pattern.py"), ("kernel_test.py", "pattern_test.py")]:
        text = (ROOT / "tools/templates" / source).read_text().replace("NAME", "pattern").replace("(pos > t - W)", rule)
        (tmp_path / target).write_text(text)
    assert subprocess.run([sys.executable, "pattern_test.py"], cwd=tmp_path, stdout=subprocess.DEVNULL).returncode == status
