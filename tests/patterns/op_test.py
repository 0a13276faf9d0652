# tests/patterns/op_test.py - patterns from Python: the op with gradients against attention under a mask in fp64.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import os

import pytest
import torch
from outliers import outlier_text

torch.ops.load_library(os.environ["LIBTESSERA_TORCH"])
ops = torch.ops.tessera
LENGTHS, H, G, D, E, LIMIT = [33, 0, 90, 1], 2, 3, 16, 24, 1e-5


def positions(length):
    t = torch.arange(length)
    return t[:, None], t[None, :]


def causal(t, pos):
    return pos <= t


CASES = {
    "dense": ("", causal),
    "window": ("window=20", lambda t, pos: (pos <= t) & (t - pos < 20)),
    "sink_window": ("window=16, first=2", lambda t, pos: (pos <= t) & ((t - pos < 16) | (pos < 2))),
    "strided": ("local=5, stride=7", lambda t, pos: (pos <= t) & ((t - pos < 5) | ((t - pos) % 7 == 0))),
    "fixed": ("block=16, summary=3", lambda t, pos: (pos <= t) & ((pos // 16 == t // 16) | (pos % 16 >= 13))),
    "block_causal": ("block=12", lambda t, pos: pos // 12 <= t // 12),
    "softcap": ("cap=2.5", causal),
    "alibi": ("", causal),
}
LEARNED = {"sink_window": "SINK", "alibi": "SLOPE"}


def reference(name, q, k, v, learned):
    """fp64 attention under a mask, one sequence after the other; learned is [tokens, 1, heads] or None."""
    outputs, start = [], 0
    for length in LENGTHS:
        part = slice(start, start + length)
        start += length
        t, pos = positions(length)
        scores = torch.einsum("thd,shd->hts", q[part], k[part].repeat_interleave(G, 1)) / D ** 0.5
        if name == "softcap":
            scores = 2.5 * torch.tanh(scores / 2.5)
        if name == "alibi":
            scores = scores - learned[part, 0].T[:, :, None] * (t - pos)
        scores = scores.masked_fill(~CASES[name][1](t, pos), float("-inf"))
        if name == "sink_window":
            scores = torch.cat([scores, learned[part, 0].T[:, :, None]], 2)
        outputs.append(torch.einsum("hts,she->the", scores.softmax(-1)[:, :, :length], v[part].repeat_interleave(G, 1)))
    return torch.cat(outputs)


def inputs(name):
    generator = torch.Generator().manual_seed(3)
    tokens = sum(LENGTHS)
    made = [torch.randn(s, generator=generator) for s in [(tokens, H * G, D), (tokens, H, D), (tokens, H, E)]]
    if name in LEARNED:
        made.append(torch.rand(tokens, 1, H * G, generator=generator) * 0.3)
    return made


def attention(name, tensors, constexprs):
    ends = torch.tensor([0, *LENGTHS]).cumsum(0).to(torch.int32)
    return ops.custom_attention(*tensors[:3], ends, max(LENGTHS), f"kernels/patterns/{name}.py", name, name + "_bwd", constexprs, None,
                                tensors[3] if len(tensors) > 3 else None, LEARNED.get(name, ""))


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name):
    tensors = inputs(name)
    mine = [t.clone().requires_grad_() for t in tensors]
    wide = [t.double().requires_grad_() for t in tensors]
    o, _ = attention(name, mine, CASES[name][0])
    want = reference(name, *wide[:3], wide[3] if name in LEARNED else None)
    assert not outlier_text(o, want, LIMIT)
    assert (o.detach().double() - want.detach()).norm() <= LIMIT * want.detach().norm()
    weights = torch.randn(want.shape, generator=torch.Generator().manual_seed(4))
    got = torch.autograd.grad((o * weights).sum(), mine)
    expected = torch.autograd.grad((want * weights).sum(), wide)
    for which, a, b in zip(["q", "k", "v", "learned"], got, expected):
        assert not outlier_text(a, b, LIMIT), which
        assert (a.double() - b).norm() <= LIMIT * b.norm(), which


def test_gradients_are_the_same_in_every_run():
    def once():
        mine = [t.clone().requires_grad_() for t in inputs("alibi")]
        return torch.autograd.grad(attention("alibi", mine, "")[0].square().sum(), mine)

    first = once()
    for _ in range(3):
        assert all(torch.equal(a, b) for a, b in zip(first, once()))


def test_the_sum_of_a_row_with_a_sink_has_no_gradient():
    mine = [t.clone().requires_grad_() for t in inputs("sink_window")]
    _, lse = attention("sink_window", mine, "window=16, first=2")
    with pytest.raises(ValueError, match="kernels with a sink do not pass on"):
        lse.sum().backward()


def test_wrong_parameters_are_named():
    tensors = inputs("window")
    with pytest.raises(RuntimeError, match="windw"):
        attention("window", tensors, "windw=4")
    with pytest.raises(RuntimeError, match="NAME=number"):
        attention("window", tensors, "window=wide")
