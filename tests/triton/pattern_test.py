# tests/triton/pattern_test.py - functions that are derived from patterns, compiled and under Triton's interpreter.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Visibility is compared with the same text as plain Python, which visibility_test.py compares with `sees`; gradients with those of
torch. compile_test.py passes the kernels to Triton's front end."""
import os
import random

import pytest
from compiled import torch

os.environ["TRITON_INTERPRET"] = "1"  # before the kernels' files import Triton
from pattern_kernels import VISIBILITY, gradient_kernel, visibility_kernel  # noqa: E402
from stand_in import Tile, plain  # noqa: E402

LENGTH = 50


def tiles():
    generator = random.Random(3)

    def interval(size):
        first = generator.randrange(size)
        return first, min(size - 1, first + generator.choice((0, 3, generator.randrange(size))))
    return [interval(LENGTH) + interval(LENGTH) + interval(4) for _ in range(64)]


@pytest.mark.parametrize("name", VISIBILITY)
def test_visibility(name):
    functions, trailing, path, module = visibility_kernel(name)
    boxes, prefix = tiles(), 7
    table = torch.tensor(boxes, dtype=torch.int32)
    for values in VISIBILITY[name]:
        want = []
        for t0, t1, pos0, pos1, head0, head1 in boxes:
            given = {"prefix": Tile(prefix), "head0": Tile(head0), "head1": Tile(head1), **values}
            rest = [given[name] for name in trailing]
            want.append([int(plain(x)) for x in (*functions.sees_tile(*map(Tile, (t0, t1, pos0, pos1)), *rest),
                                                 *functions.key_range(Tile(t0), Tile(t1), Tile(LENGTH), *rest),
                                                 *functions.query_range(Tile(pos0), Tile(pos1), Tile(LENGTH), *rest))])
        want = torch.tensor(want, dtype=torch.int32)
        compiled, interpreted = torch.full((2, len(boxes), 10), -7, dtype=torch.int32)
        torch.ops.tessera.launch(path, "probe", [table, compiled], [LENGTH, prefix], [len(boxes)], ", ".join(f"{k}={v}" for k, v in values.items()))
        module.probe[(len(boxes),)](table, interpreted, LENGTH, prefix, **values)
        assert torch.equal(compiled, want), f"{values}: the compiler differs in {(compiled != want).nonzero()[0].tolist()}"
        assert torch.equal(interpreted, want), f"{values}: Triton differs in {(interpreted != want).nonzero()[0].tolist()}"


def piecewise(s, t, pos, slope, cap):
    s = cap * torch.tanh(s / cap) if cap > 0 else s
    return torch.where(pos < 4, s * s.exp(), s.clamp(max=3.0))


# (name, function, values of the parameters, does Triton's interpreter have what the text uses, modify)
SLOPE = (
    ("softcap", "modify_grad", {"cap": 3.0}, False, lambda s, t, pos, slope, cap: cap * torch.tanh(s / cap)),
    ("alibi", "modify_grad", {}, True, lambda s, t, pos, slope: s + slope * (pos - t)),
    ("alibi", "modify_grad_slope", {}, True, lambda s, t, pos, slope: s + slope * (pos - t)),
    ("piecewise", "modify_grad", {"cap": 3.0}, True, piecewise),
    ("piecewise", "modify_grad", {"cap": 0.0}, True, piecewise),
)


@pytest.mark.parametrize("name, function, values, interpreted, modify", SLOPE)
def test_gradients(name, function, values, interpreted, modify):
    path, module = gradient_kernel(name, function, values)
    scores = torch.randn(16, 16, generator=torch.Generator().manual_seed(1)) * 3
    row = torch.arange(16)
    s, slope = scores.double().requires_grad_(), torch.full((16, 16), 0.25, dtype=torch.float64, requires_grad=True)
    modify(s, row[:, None], row[None, :], slope, **values).sum().backward()
    want = slope.grad if function.endswith("slope") else s.grad
    outputs = [torch.full((16, 16), -7.0)]
    torch.ops.tessera.launch(path, "slopes", [scores, outputs[0]], [0.25], [1], ", ".join(f"{k}={v}" for k, v in values.items()))
    if interpreted:
        outputs.append(torch.full((16, 16), -7.0))
        module.slopes[(1,)](scores, outputs[1], 0.25, **values)
    for output in outputs:
        assert torch.allclose(output.double(), want, rtol=2e-5, atol=2e-5), (output.double() - want).abs().max()
