# tests/unit/language/pattern/derivative_test.py - derived gradients against differences of `modify` in fp64.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import math
import random

import pytest
from stand_in import pattern_texts
import types

HEADER = """from triton.language.extra import libdevice
# tessera: pattern(cap=2.5, width=3, smooth=True)
# tessera: learned(slope=[Hq], scale=[Hq])
"""


class Number(float):
    """fp64 with the methods of a tensor."""

    def to(self, _):
        return Number(self)


def function(f):
    return lambda *operands: Number(f(*map(float, operands)))


def signed(name):
    """An operator whose result is a Number."""
    return lambda *operands: Number(getattr(float, name)(*map(float, operands)))


for operator in ("__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__", "__truediv__", "__rtruediv__", "__neg__", "__abs__"):
    setattr(Number, operator, signed(operator))

tl = types.SimpleNamespace(
    constexpr=None, float32=None, exp=function(math.exp), exp2=function(lambda x: 2.0 ** x), log=function(math.log), log2=function(math.log2),
    sqrt=function(math.sqrt), rsqrt=function(lambda x: 1 / math.sqrt(x)), sin=function(math.sin), cos=function(math.cos),
    sigmoid=function(lambda x: 1 / (1 + math.exp(-x))), abs=function(abs), where=lambda c, a, b: Number(a if c else b),
    minimum=function(min), maximum=function(max))
libdevice = types.SimpleNamespace(tanh=function(math.tanh))


def load(text):
    names = {"tl": tl, "libdevice": libdevice, "triton": types.SimpleNamespace(jit=lambda f: f)}
    exec("\n".join(line for line in text.splitlines() if not line.startswith(("import ", "from "))), names)
    return types.SimpleNamespace(**names)


class Writer:
    """Writes random functions `modify` whose values and slopes stay small."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = []

    def pick(self, *choices):
        return self.random.choice(choices)

    def leaf(self):
        return self.pick("s", "s", "s", "slope", "scale", "cap", "width", "(pos - t)", "head", "0.5", "2", "3.0", *self.names)

    def number(self, depth):
        if depth == 0:
            return self.leaf()
        x, y = self.number(depth - 1), self.number(self.random.randrange(depth))
        small = f"libdevice.tanh({x})"
        return self.pick(
            f"({x} + {y})", f"({x} - {y})", f"({x} * {self.leaf()})", f"({x} / {self.pick('cap', 'width', '4', '(2.0 + tl.sin(' + y + '))')})",
            f"(-{x})", small, f"cap * libdevice.tanh({x} / cap)", f"(2 * tl.sigmoid(2 * {x}) - 1)", f"tl.sigmoid({x})", f"tl.exp({small})",
            f"tl.exp2({small})", f"tl.log(1.5 + {small})", f"tl.log2(2.0 + {small})", f"tl.sqrt(1.1 + {small})", f"tl.rsqrt(1.2 + {small})",
            f"tl.sin({x})", f"tl.cos({x})", f"tl.abs({x})", f"tl.where(pos <= t, {x}, {y})", f"tl.where(s < 0.3, {x}, {y})",
            f"tl.minimum({x}, {y})", f"tl.maximum({x}, {y})", f"{self.name(x)}.to(tl.float32)", f"({x} if smooth else {y})", f"helper({x}, {y})")

    def name(self, x):
        return f"({x} + s)"

    def pattern(self):
        self.names, lines = [], []
        if self.random.random() < 0.5:
            lines.append(f"    x = {self.number(2)}")
            self.names = ["x", "x"]
        if self.random.random() < 0.3:
            lines += ["    if width > 2:", f"        s = {self.number(1)}"]
        if self.random.random() < 0.3:
            lines.append(f"    s += {self.number(1)}")
        lines.append(f"    return {self.number(3)}")
        return "\n".join([
            HEADER.split("\n")[0], "", "@triton.jit", "def helper(x, y):", "    z = x * y", "    return z + libdevice.tanh(z)", "", *HEADER.split("\n")[1:3],
            "@triton.jit", "def modify(s, t, pos, head, slope, scale, cap: tl.constexpr, width: tl.constexpr, smooth: tl.constexpr):", *lines, ""])


def difference(f, x):
    """The derivative at x by Richardson extrapolation of central differences, and an estimate of its error."""
    def central(h):
        return (f(x + h) - f(x - h)) / (2 * h)
    coarse, fine = ((4 * central(h / 2) - central(h)) / 3 for h in (2e-4, 1e-4))
    return fine, abs(fine - coarse)


def check_gradients(pattern, result, generator):
    """How many gradients were compared. A point at a kink of the function, where differences do not settle, is left out."""
    assert result.startswith("text\n"), f"{pattern}\n{result}"
    functions = load(pattern + result.split("\n", 2)[2])
    compared = 0
    for _ in range(3):
        t = generator.randrange(8)
        point = {"s": generator.uniform(-2, 2), "slope": generator.uniform(-1, 1), "scale": generator.uniform(0.3, 1.5)}
        rest = [generator.choice((1.5, 2.5)), generator.choice((2, 3)), generator.random() < 0.5]

        def call(function, **changed):
            values = {**point, **changed}
            return float(function(Number(values["s"]), Number(t), Number(3), Number(1), Number(values["slope"]), Number(values["scale"]), *rest))

        for name in point:
            got = call(getattr(functions, "modify_grad" + ("" if name == "s" else "_" + name)))
            want, error = difference(lambda x, name=name: call(functions.modify, **{name: x}), point[name])
            if error > 1e-6 * (1 + abs(want)):
                continue
            compared += 1
            assert abs(got - want) <= 1e-6 * (1 + abs(want)), f"by {name} at {point} {t} {rest}: {got}, want {want}\n{pattern}\n{result}"
    return compared


@pytest.mark.parametrize("seed", range(2))
def test_random_gradients(seed):
    generator = random.Random(seed)
    writer = Writer(seed)
    patterns = [writer.pattern() for _ in range(150)]
    compared = sum(check_gradients(pattern, result, generator) for pattern, result in zip(patterns, pattern_texts(patterns)))
    print(f"{compared} gradients of {len(patterns)} functions")
    assert compared > 1000
