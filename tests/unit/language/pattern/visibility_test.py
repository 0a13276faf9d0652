# tests/unit/language/pattern/visibility_test.py - derived visibility against `sees` itself, at every position.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Random patterns must not get a wrong answer; known patterns must get the exact one."""
import itertools
import random
import re

import numpy as np
import pytest
from stand_in import Tile, derived, pattern_texts, plain

LENGTH = 40
HEADS = 3


class Writer:
    """Writes random functions `sees`."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = ["t", "pos"]

    def pick(self, *choices):
        return self.random.choice(choices)

    def uniform(self):
        return self.pick(str(self.random.randint(-9, 24)), "a", "b", "p", "LIMIT", "a", "(a - b)", "(a * 2)", "(b // 2)", "(p + 1)")

    def divisor(self):
        return self.pick("2", "3", "5", "8", "a", "b", "(a + 1)", "p")

    def number(self, depth):
        if depth == 0 or self.random.random() < 0.2:
            return self.pick(*self.names, "t", "pos", "(t - pos)", "(pos - t)", self.uniform())
        x, y = self.number(depth - 1), self.number(depth - 1)
        return self.pick(
            f"({x} + {y})", f"({x} - {y})", f"({x} - {self.uniform()})", f"({x} + {self.uniform()})", f"({self.uniform()} - {x})",
            f"({x} // {self.divisor()})", f"({x} // {self.divisor()})", f"({x} % {self.divisor()})", f"({x} % {self.divisor()})",
            f"tl.minimum({x}, {y})", f"tl.maximum({x}, {y})", f"tl.abs({x})", f"(-{x})", f"({self.pick('2', '-1', '3', 'a', 'b')} * {x})",
            f"tl.where({self.pick('t', 'pos', 't - pos')} < {self.uniform()}, {x}, {y})", f"({x} * {y})" if depth == 1 else x, "(t >> 2)",
            "(pos & 7)", "(pos << 1)",
            f"tl.cdiv(pos, {self.divisor()})", f"helper({x}, a)")

    def comparison(self, depth):
        op = self.pick("<", "<=", ">", ">=", "<", "<=", "==", "!=")
        if self.random.random() < 0.5:
            left = self.pick("pos", "t - pos", "t", "pos // a", "t // 4 - pos // 4", "(t - pos) % a", "(pos - b) // 3", "(t - pos) // a", "2 * pos", "b * pos")
            right = self.pick("t", "t // a", "t - a", self.uniform(), self.uniform(), "0", self.number(1))
            return f"({left} {op} {right})"
        if self.random.random() < 0.1:
            return f"({self.uniform()} {op} {self.number(1)} < {self.uniform()})"
        return f"({self.number(depth)} {op} {self.number(depth)})"

    def negation(self):
        """With `~`, which compile-time bools do not have."""
        one = self.comparison(1)
        return f"(~{one})" if re.search(r"\b(t|pos|head|near|x)\b", one) else f"(not {one})"

    def condition(self, depth):
        if depth == 0 or self.random.random() < 0.15:
            return self.pick(self.comparison(1), self.comparison(2), self.comparison(1), "(pos <= t)", "flag", "(a > 3)")
        x, y = self.condition(depth - 1), self.condition(depth - 1)
        return self.pick(f"({x} & {y})", f"({x} | {y})", f"({x} & {y})", f"({x} | {y})", self.negation(), f"({x} ^ {y})",
                         f"({x} and {y})", f"({x} or {y})", f"(not {x})", f"tl.where({self.condition(0)}, {x}, {y})",
                         f"({x} if a > b else {y})", f"({x} == {y})", f"(pos <= t) & {x}")

    def pattern(self):
        self.names = ["t", "pos"] + (["head"] if self.random.random() < 0.25 else [])
        head = "head, " if "head" in self.names else ""
        lines = []
        if self.random.random() < 0.3:
            lines.append(f"    near = {self.number(2)}")
            self.names.append("near")
        if self.random.random() < 0.2:
            lines.append("    if flag:")
            lines.append(f"        return {self.condition(2)}")
        if self.random.random() < 0.2:
            test = self.pick("b > 0", "not flag", "a == b")
            lines += [f"    if {test}:", f"        x = {self.number(1)}", "    else:", f"        x = {self.number(1)}"]
            self.names.append("x")
        lines.append(f"    return {self.condition(self.random.randint(1, 3))}")
        return "\n".join([
            "LIMIT = 6", "", "@triton.jit", "def helper(x, m: tl.constexpr):", "    if m > 2:", "        return x - m", "    return x + 1", "",
            "# tessera: pattern(a=4, b=2, flag=True)", "# tessera: per_sequence(p=i32)", "@triton.jit",
            f"def sees(t, pos, {head}p, a: tl.constexpr, b: tl.constexpr, flag: tl.constexpr):", *lines, ""])


def visible(functions, hasHead, *parameters):
    """sees() at [head, t, pos]."""
    t, pos = Tile(np.arange(LENGTH)[:, None]), Tile(np.arange(LENGTH)[None, :])
    heads = [(Tile(h),) for h in range(HEADS)] if hasHead else [()]
    return np.stack([np.broadcast_to(functions.sees(t, pos, *head, *parameters), (LENGTH, LENGTH)) for head in heads])


def interval(generator, size):
    first = generator.randrange(size)
    return first, min(size - 1, first + generator.choice((0, 1, 3, 7, generator.randrange(size))))


def check_tile(functions, seen, box, trailing, what):
    """Whether `any` is more than is visible, and `all` less."""
    t0, t1, pos0, pos1 = box
    some, every = functions.sees_tile(*map(Tile, box), *trailing)
    part = seen[:, t0:t1 + 1, pos0:pos1 + 1]
    assert bool(some) or not part.any(), f"{what}\nsees_tile{box}: visible keys are hidden"
    assert not bool(every) or part.all(), f"{what}\nsees_tile{box}: hidden keys are not masked"
    return bool(some) == bool(part.any()), bool(every) == bool(part.all())


def range_of(function, low, high, length, trailing):
    return tuple(int(plain(bound)) for bound in function(Tile(low), Tile(high), Tile(length), *trailing))


def check_range(function, seen, low, high, length, trailing, what):
    """`seen` has the solved positions last. Returns (first, full_first, full_past, past)."""
    bounds = first, full_first, full_past, past = range_of(function, low, high, length, trailing)
    part = seen[:, low:high + 1, :length]
    what = f"{what}\n({low}, {high}, {length}) -> {bounds}"
    assert first >= 0 and past <= length, what
    assert not part[..., :first].any() and not part[..., max(past, 0):].any(), f"{what}: the range is too small"
    if full_first < full_past:
        assert 0 <= full_first and full_past <= length, what
        assert part[..., full_first:full_past].all(), f"{what}: the full range is too large"
    return bounds


def check_random(seed, count):
    writer = Writer(seed)
    return check_patterns([writer.pattern() for _ in range(count)], seed)


def check_patterns(patterns, seed):
    """Checks random tiles. Returns how many functions with values were checked, and how many answers were exact, of how many."""
    generator = random.Random(seed)
    checked = 0
    exact = [0, 0, 0]
    for pattern, result in zip(patterns, pattern_texts(patterns)):
        functions, _ = derived(pattern, result)
        hasHead = "def sees(t, pos, head" in pattern
        for _ in range(3):
            a, b = generator.choice(((1, 4), (4, 2), (8, 8), (-2, 3), (3, -5), (generator.randint(-4, 9), generator.randint(-4, 9))))
            parameters = (Tile(generator.randint(-1, 20)), a, b, np.bool_(generator.random() < 0.5))
            try:
                seen = visible(functions, hasHead, *parameters)
            except ZeroDivisionError:
                continue
            checked += 1
            head0, head1 = interval(generator, HEADS) if hasHead else (0, 0)
            trailing = ((Tile(head0), Tile(head1)) if hasHead else ()) + parameters
            seen = seen[head0:head1 + 1]
            what = f"seed {seed}\n{pattern}\n{result}\np, a, b, flag = {[int(plain(x)) for x in parameters]}, heads {head0}..{head1}"
            for _ in range(10):
                box = interval(generator, LENGTH) + interval(generator, LENGTH)
                some, every = check_tile(functions, seen, box, trailing, what)
                exact = [exact[0] + some, exact[1] + every, exact[2] + 1]
            for _ in range(4):
                length = generator.randint(1, LENGTH)
                check_range(functions.key_range, seen, *interval(generator, LENGTH), length, trailing, what)
                check_range(functions.query_range, seen.swapaxes(1, 2), *interval(generator, LENGTH), length, trailing, what)
    return checked, exact


@pytest.mark.parametrize("seed", range(3))
def test_random_patterns(seed):
    checked, (some, every, count) = check_random(seed, 350)
    print(f"{checked} functions with values, {count} tiles: any is exact in {some / count:.1%}, all in {every / count:.1%}")
    assert checked > 900
    assert some > 0.8 * count and every > 0.8 * count


HEAD = """# tessera: pattern(a=4, b=2, flag=True)
# tessera: per_sequence(p=i32)
@triton.jit
def sees(t, pos, p, a: tl.constexpr, b: tl.constexpr, flag: tl.constexpr):
    return """


@pytest.mark.parametrize("expression", (
    "b * (t - t) * (t - pos) <= pos - 9",   # a factor that is 0
    "(t - t - 7) // 2 + pos < a",           # a number of the run time, which does not divide as constexprs do
    "(pos - t) // 4 >= -1", "(pos - t) % 4 >= -1", "(b - 7) // 2 + pos < t", "(p - 17) // 4 + pos <= t", "p % 5 + pos == t",
    "(pos < -b) & (pos >= t) & ((p > 3) | (pos > t + 4))",  # an empty range that ends before 0
))
def test_expression(expression):
    checked, _ = check_patterns([HEAD + expression + "\n"] * 20, 5)
    assert checked == 60


@pytest.mark.parametrize("lines", (
    "x = b - 7\n    return pos < t - x // 2", "x = -7\n    return pos < t - x // 2", "x = b\n    return pos <= t + x % 4",
    "x = -7\n    return pos <= t + x % a", "x = b - 7\n    x += 1\n    return pos < t - x // a", "x = -7\n    return pos < t - tl.cdiv(x, 3)",
    "x: tl.constexpr = b - 7\n    return pos < t - x // 2", "x = a\n    return pos < t + (-7) // x", "return pos < t - half(b - 7) // 2",
    "x, y = b, -9\n    return (pos < t + x // 3) & (pos > y // 2 - t)", "x = b\n    if x // 2 == -1:\n        return pos < t\n    return pos > t",
))
def test_a_name_makes_a_number_of_the_run_time(lines):
    """Its divisions truncate, those of parameters round down."""
    helper = "@triton.jit\ndef half(x: tl.constexpr):\n    return x // 2\n\n\n"
    checked, _ = check_patterns([helper + HEAD.replace("return ", lines) + "\n"] * 20, 5)
    assert checked > 50


def pattern_of(expression, **defaults):
    """A pattern whose parameters are constexprs; `prefix` is a value of the sequence."""
    constexprs = {name: value for name, value in defaults.items() if name != "prefix"}
    lines = []
    if constexprs:
        lines.append(f"# tessera: pattern({', '.join(f'{name}={value}' for name, value in constexprs.items())})")
    if "prefix" in defaults:
        lines.append("# tessera: per_sequence(prefix=i32)")
    names = [name if name == "prefix" else f"{name}: tl.constexpr" for name in defaults]
    return "\n".join([*lines, "@triton.jit", f"def sees({', '.join(['t', 'pos', *names])}):", f"    return {expression}", ""])


SIZE = 24


def sides(least):
    """First and last position of all ranges of at least `least` of SIZE positions."""
    return np.array([(low, high) for low in range(SIZE) for high in range(low + least - 1, SIZE)]).T


def counts(seen, t0, t1, pos0, pos1):
    """How many elements of each tile are visible."""
    sums = np.pad(seen.astype(int).cumsum(0).cumsum(1), ((1, 0), (1, 0)))
    return sums[t1 + 1, pos1 + 1] - sums[t0, pos1 + 1] - sums[t1 + 1, pos0] + sums[t0, pos0]


CAUSAL = "(pos <= t)"
# name: (expression, values of the parameters, least size of a tile, gaps between keys and between queries)
EXACT = {
    "causal": (CAUSAL, {}, 1, (False, False)),
    "bidirectional": ("pos >= 0", {}, 1, (False, False)),
    "window": (CAUSAL + " & (t - pos < window)", {"window": (1, 3, 8)}, 1, (False, False)),
    "sink_window": (CAUSAL + " & ((t - pos < window) | (pos < sinks))", {"window": (1, 5), "sinks": (0, 1, 4)}, 1, (True, False)),
    "radius": ("tl.abs(t - pos) <= radius", {"radius": (0, 2, 5)}, 1, (False, False)),
    "strided": (CAUSAL + " & ((t - pos) % step == 0)", {"step": (1, 2, 4)}, 4, (True, True)),
    "dilated_window": (CAUSAL + " & (t - pos < window) & ((t - pos) % step == 0)", {"window": (1, 6, 9), "step": (1, 3, 4)}, 1, (True, True)),
    "block_causal": ("pos // block <= t // block", {"block": (1, 3, 4)}, 1, (False, False)),
    "chunks": ("pos // chunk == t // chunk", {"chunk": (1, 4, 7)}, 1, (False, False)),
    "causal_chunks": (CAUSAL + " & (pos // chunk == t // chunk)", {"chunk": (1, 4, 7)}, 1, (False, False)),
    "prefix": (CAUSAL + " | (pos < prefix)", {"prefix": (0, 1, 6)}, 1, (False, False)),
}


@pytest.mark.parametrize("name", EXACT)
def test_exact(name):
    """any and all are exact for every tile. Ranges without gaps are exact, and each tile of theirs is seen."""
    expression, values, least, gaps = EXACT[name]
    pattern = pattern_of(expression, **{key: choices[0] for key, choices in values.items()})
    result = pattern_texts([pattern])[0]
    functions, found = derived(pattern, result)
    assert gaps == found, result
    low, high = sides(least)
    t0, pos0 = (grid.ravel() for grid in np.meshgrid(low, low))
    t1, pos1 = (grid.ravel() for grid in np.meshgrid(high, high))
    for choice in itertools.product(*values.values()):
        parameters = [Tile(value) if key == "prefix" else value for key, value in zip(values, choice)]
        seen = visible(functions, False, *parameters)[0, :SIZE, :SIZE]
        count = counts(seen, t0, t1, pos0, pos1)
        some, every = functions.sees_tile(Tile(t0), Tile(t1), Tile(pos0), Tile(pos1), *parameters)
        assert (some == (count > 0)).all() and (every == (count == (t1 - t0 + 1) * (pos1 - pos0 + 1))).all(), f"{choice}\n{result}"
        for function, grid, hasGaps in ((functions.key_range, seen, found[0]), (functions.query_range, seen.T, found[1])):
            for bounds in sides(1).T:
                check_exact_range(function, grid, *map(int, bounds), parameters, f"{choice}\n{result}", hasGaps, any(found))


def check_exact_range(function, seen, low, high, parameters, what, hasGaps, someGaps):
    first, full_first, full_past, past = check_range(function, seen[None], low, high, SIZE, parameters, what)
    part = seen[low:high + 1]
    some = np.flatnonzero(part.any(0))
    if not hasGaps and len(some):
        assert (first, past) == (some[0], some[-1] + 1) and len(some) == past - first, f"{what}\n({low}, {high})"
        assert someGaps or max(0, full_past - full_first) == part.all(0).sum(), f"{what}\n({low}, {high})"
