"""tests/python/aggregates_test.py - classes under tessera.aggregate in kernels of tessera.jit.

SPDX-License-Identifier: Apache-2.0
"""
import pytest
import tessera
import tessera.language as tl
import torch

FACTOR = 3


@tessera.jit
def scaled(x):
    return x * FACTOR


@tessera.aggregate
class Line:
    slope: tl.tensor
    offset: tl.tensor
    STEPS: tl.constexpr = 2

    @tessera.jit
    def at(self, x):
        return scaled(x) * self.slope + self.offset + self.STEPS

    @tessera.jit
    def moved(self, by):
        return tl.aggregate_replace(self, offset=self.offset + by)

    def host(self):
        return [self]


@tessera.aggregate
class Flat:
    height: tl.tensor
    SIZE: tl.constexpr

    def __init__(self, x):
        self.height = x
        self.SIZE = tl.constexpr(FACTOR + 1)

    @tessera.jit
    def line(self):
        return Line(self.height * 0, self.height, STEPS=self.SIZE)


@tessera.jit
def lines(X, OUT, N: tl.constexpr):
    r = tl.arange(0, N)
    x = tl.load(X + r)
    tl.store(OUT + r, Line(x, x + 1).moved(1.0).at(x))
    tl.store(OUT + N + r, Flat(x).line().at(x))
    tl.store(OUT + 2 * N + r, Line.at(Line(x, x), 2.0))


def test_functions_fields_and_init():
    x, out = torch.randn(16), torch.zeros(48)
    lines[(1,)](x, out, N=16)
    assert torch.allclose(out, torch.cat([3 * x * x + x + 4, x + 4, 7 * x + 2]), atol=1e-6)


def test_a_constant_of_a_function_is_watched():
    global FACTOR
    x, out, old = torch.randn(16), torch.zeros(48), FACTOR
    lines[(1,)](x, out, N=16)
    try:
        FACTOR = 5
        with pytest.raises(RuntimeError, match="`FACTOR` was 3"):
            lines[(1,)](x, out, N=16)
    finally:
        FACTOR = old


@tessera.jit
def number_for_a_tensor(OUT):
    tl.store(OUT, Line(1.0, tl.load(OUT)).slope)


@tessera.jit
def calls_host(OUT):
    tl.store(OUT, Line(tl.load(OUT), tl.load(OUT)).host())


@tessera.jit
def wrong_field(OUT):
    tl.store(OUT, Line(tl.load(OUT), tl.load(OUT), STEPS=tl.program_id(0)).slope)


@tessera.aggregate
class Both:
    first: Line
    second: Flat

    @tessera.jit
    def at(self, x):
        return self.first.at(x) + self.second.height


@tessera.jit
def both(OUT):
    x = tl.load(OUT)
    tl.store(OUT, Both(Line(x, x), Flat(x + 1)).at(x))


@tessera.jit
def wrong_class(OUT):
    x = tl.load(OUT)
    tl.store(OUT, Both(Flat(x), Flat(x)).second.height)


@tessera.jit
def number_for_a_class(OUT):
    x = tl.load(OUT)
    tl.store(OUT, Both(Line(x, x), x).first.slope)


def test_fields_of_classes():
    out = torch.full((1,), 2.0)
    both[(1,)](out)
    assert out.item() == (3 * 2 * 2 + 2 + 2) + 3


def kernel_of(factor):
    @tessera.aggregate
    class Own:
        x: tl.tensor

        @tessera.jit
        def get(self):
            return self.x * factor

    @tessera.jit
    def own(OUT):
        tl.store(OUT, Own(tl.load(OUT)).get())
    return own


def test_a_class_of_a_function():
    for factor in (2, 5):
        out = torch.ones(1)
        kernel_of(factor)[(1,)](out)
        assert out.item() == factor


@pytest.mark.parametrize("kernel, part", ((calls_host, "has no attribute `host`"), (number_for_a_tensor, "field `slope` of `Line` is a tl.tensor"),
                                          (wrong_field, "field `STEPS` of `Line` is a tl.constexpr"),
                                          (wrong_class, "field `first` of `Both` is a `Line`, but the value is"),
                                          (number_for_a_class, "field `second` of `Both` is a `Flat`, but the value is")))
def test_wrong_fields_have_a_location(kernel, part):
    with pytest.raises(RuntimeError, match=part) as error:
        kernel[(1,)](torch.zeros(1))
    assert "aggregates_test.py:" in str(error.value)
