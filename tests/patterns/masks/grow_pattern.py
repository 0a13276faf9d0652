# tests/patterns/masks/grow_pattern.py - writes random files of patterns.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""A file has a function `sees`, mostly two helpers, and sometimes a function `modify`. The parameters have values of both signs; divisors
are positive."""
import random
import re

HEADER = "import triton\nimport triton.language as tl\n"
PARAMETERS = {"near": "int", "far": "int", "shift": "int", "block": "size", "step": "size", "flag": "bool", "other": "bool", "mode": "text",
              "ratio": "float"}
SEQUENCE = ("prefix", "width")
MODES = ("left", "right", "both")


def default(kind, draw):
    if kind == "int":
        return draw.choice((0, 1, 2, -1, draw.randint(-9, 9), draw.randint(-70, 70), draw.randint(0, 40), draw.randint(3, 30)))
    if kind == "size":
        return draw.choice((1, 2, 3, 4, 7, 8, 16, 32, 64, draw.randint(1, 50)))
    if kind == "bool":
        return draw.random() < 0.5
    return draw.choice(MODES) if kind == "text" else round(draw.uniform(-1.5, 1.5), 2)


class Grower:
    """`sizes` are names and numbers that may divide."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.parameters = {name: default(kind, self.random) for name, kind in PARAMETERS.items()}
        self.per_sequence = [name for name in SEQUENCE if self.random.random() < 0.3]
        self.has_head = self.random.random() < 0.25
        self.integers, self.conditions, self.helpers = [], [], {}
        self.indent = 0

    def pick(self, *choices):
        return self.random.choice(choices)

    def chance(self, probability):
        return self.random.random() < probability

    # Values that are known while compiling. -----------------------------------

    def constant(self):
        return str(self.pick(0, 1, 2, 3, 5, self.random.randint(-8, 8), self.random.randint(0, 60)))

    def fixed(self, depth=1):
        if depth == 0 or self.chance(0.5):
            return self.pick("near", "far", "shift", "block", "step", "LIMIT", self.constant())
        x, y = self.fixed(depth - 1), self.fixed(depth - 1)
        return self.pick(f"({x} + {y})", f"({x} - {y})", f"({x} * {self.pick('2', '-1', '3')})", f"({x} // {self.size()})", f"({x} % {self.size()})",
                         f"(-{x})", f"({x} if {self.test(0)} else {y})")

    def test(self, depth=1):
        """A condition of an `if`."""
        if depth == 0 or self.chance(0.5):
            return self.pick("flag", "other", "not flag", f"near {self.compare()} far", f"shift {self.compare()} {self.constant()}", "block == step",
                             "block != step", f"mode {self.pick('==', '!=')} \"{self.pick(*MODES)}\"", f"ratio {self.pick('<', '>', '<=', '>=')} 0.25",
                             f"{self.fixed(depth)} {self.compare()} {self.fixed(depth)}")
        x, y = self.test(depth - 1), self.test(depth - 1)
        return self.pick(f"({x} and {y})", f"({x} or {y})", f"not ({x})", f"({x} or not {y})")

    def size(self):
        return self.pick("2", "3", "5", "8", "16", "32", "block", "step", "block", "(step + 1)", "(block * 2)")

    def compare(self):
        return self.pick("<", "<=", ">", ">=", "==", "!=")

    # Values of the run time. --------------------------------------------------

    def leaf(self):
        return self.pick("t", "pos", "t", "pos", "(t - pos)", "(t - pos)", "(pos - t)", *self.integers, *self.per_sequence,
                         *(["head"] if self.has_head else []))

    def uniform(self):
        return self.pick(*self.per_sequence, *[f"({name} + {self.constant()})" for name in self.per_sequence], self.fixed(), self.fixed(), self.fixed(0))

    def number(self, depth):
        if depth == 0 or self.chance(0.25):
            return self.leaf()
        x, y = self.number(depth - 1), self.number(depth - 1)
        made = [f"({x} + {self.uniform()})", f"({x} - {self.uniform()})", f"({x} - {y})", f"({x} + {y})", f"({x} // {self.size()})",
                f"({x} // {self.size()})", f"({x} % {self.size()})", f"({x} % {self.size()})", f"({self.pick('2', '-1', 'near', 'step')} * {x})",
                f"(-{x})", f"tl.minimum({x}, {y})", f"tl.maximum({x}, {self.uniform()})", f"tl.abs({x})",
                f"tl.where({self.comparison(depth - 1)}, {x}, {y})", f"({x} if {self.test()} else {y})", f"tl.cdiv({self.pick('t', 'pos')}, {self.size()})",
                "(t >> 2)", "(pos & 7)", "(pos << 1)"]
        made += [f"{name}({x}, {self.size()})" for name, kind in self.helpers.items() if kind == "number"] * 2
        made += [f"{name}({self.fixed()}, {self.size()})" for name, kind in self.helpers.items() if kind == "number"]
        return self.pick(*made)

    def comparison(self, depth):
        if self.chance(0.55):
            left = self.pick("t - pos", "pos", "t", "t // block", "pos // block", "(t - pos) % step", "(t - pos) // block", "t // 8 - pos // 8",
                             "pos % step", *(["head % 2", "head", "pos - head * 3"] if self.has_head else []), *self.integers)
            right = self.pick(self.uniform(), self.uniform(), "near", "0", "t // block", "pos", self.number(min(depth, 1)))
            return f"({left} {self.compare()} {right})"
        return f"({self.number(depth)} {self.compare()} {self.number(depth)})"

    def condition(self, depth):
        if depth == 0 or self.chance(0.15):
            helped = [f"{name}({self.number(1)}, {self.uniform()})" for name, kind in self.helpers.items() if kind == "condition"]
            return self.pick(self.comparison(1), self.comparison(2), self.comparison(1), "(pos <= t)", "(pos <= t)", *self.conditions, *helped)
        x, y = self.condition(depth - 1), self.condition(depth - 1)
        return self.pick(f"({x} & {y})", f"({x} | {y})", f"({x} & {y})", f"({x} | {y})", f"(~{x})", f"({x} ^ {y})", f"({x} | (not flag))",
                         f"({x} & {self.pick('flag', 'other')})", f"({x} | {self.pick('flag', 'other')})", f"((pos <= t) & {x})",
                         f"((pos <= t) & {x})", f"tl.where({self.condition(0)}, {x}, {y})", f"({x} if {self.test()} else {y})", f"({x} == {y})",
                         f"({x} and {y})", f"({x} or {y})", f"(not {x})")

    # Statements. --------------------------------------------------------------

    def assign(self, pad):
        """A local variable, or a change of one."""
        if self.integers and self.chance(0.25):
            return [f"{pad}{self.pick(*self.integers)} {self.pick('+=', '-=')} {self.uniform()}"]
        if self.chance(0.25):
            name, value = f"seen{len(self.conditions)}", self.condition(1)
            self.conditions.append(name)
        else:
            name, value = f"local{len(self.integers)}", self.pick(self.number(2), self.number(1), self.fixed())
            self.integers.append(name)
        return [f"{pad}{name} = {value}"]

    def choose(self, pad):
        """A local variable that each arm of an `if` assigns."""
        name = f"local{len(self.integers)}"
        lines = [f"{pad}if {self.test()}:", f"{pad}    {name} = {self.number(1)}"]
        if self.chance(0.3):
            lines += [f"{pad}elif {self.test()}:", f"{pad}    {name} = {self.number(1)}"]
        lines += [f"{pad}else:", f"{pad}    {name} = {self.number(1)}"]
        self.integers.append(name)
        return lines

    def early(self, pad, result):
        """Returns on conditions of parameters."""
        lines = [f"{pad}if {self.test()}:", f"{pad}    return {result()}"]
        if self.chance(0.3):
            lines += [f"{pad}elif {self.test()}:"]
            if self.chance(0.3):
                lines += [f"{pad}    if {self.test()}:", f"{pad}        return {result()}"]
            lines += [f"{pad}    return {result()}"]
        if self.chance(0.2):
            lines += [f"{pad}else:", f"{pad}    pass"]
        return lines

    def body(self, result):
        lines = []
        for _ in range(self.pick(0, 0, 1, 2, 3)):
            lines += self.pick(self.assign, self.choose, lambda pad: self.early(pad, result), lambda pad: self.early(pad, result))("    ")
        return lines + [f"    return {result()}"]

    def helper(self, name, kind):
        """A function of x and size. Helpers read neither positions nor parameters."""
        if kind == "number":
            results = [f"x {self.pick('+', '-', '*', '//', '%')} size", "x // size * size", f"tl.maximum(x - size, {self.constant()})", "x"]
            lines = [f"    if size > {self.random.randint(1, 9)}:", f"        return {self.pick(*results)}"] if self.chance(0.6) else []
            lines += ["    x += 1"] if self.chance(0.2) else []
            lines += [f"    return {self.pick(*results)}"]
        else:
            lines = [f"    return {self.pick('x <= size', '(x >= 0) & (x < size)', 'tl.abs(x) < size', 'x % 4 != size')}"]
        size = self.pick("size", "size: tl.constexpr") if kind == "number" else "size"
        self.helpers[name] = kind
        return ["@triton.jit", f"def {name}(x, {size}):", *lines, "", ""]

    def score(self):
        distance = self.pick("(t - pos)", "tl.abs(t - pos)", "(pos % step)", "(t // block - pos // block)", "head" if self.chance(0.5) else "pos")
        return self.pick(f"s + 0.02 * {distance}", f"s - ratio * 0.05 * {distance}", f"s * (1.0 + 0.01 * {distance})", "4.0 * tl.sigmoid(s * ratio)",
                         f"tl.where({self.comparison(1)}, s, 0.5 * s)", f"tl.where({self.comparison(1)}, s * ratio, s + 1.0)", "tl.maximum(s, 0.25 * s)",
                         "tl.minimum(s, 1.5) + ratio", "s + tl.sin(s * 2.0)", "s * tl.sigmoid(s)", f"s * ratio if {self.test()} else s - 0.01 * {distance}",
                         "tl.exp2(tl.minimum(s, 2.0))")

    def function(self, name, fixed, lines):
        """A function that takes what its lines mention."""
        mentioned = set(re.findall(r"\w+", "\n".join(lines)))
        known = [*fixed, *(["head"] if self.has_head and name == "sees" else []), *self.per_sequence, *self.parameters]
        taken = [p for p in known if p in fixed or p in mentioned]
        given = [p + ": tl.constexpr" if p in self.parameters else p for p in taken]
        return [f"def {name}({', '.join(given)}):", *lines], taken

    def pattern(self):
        """(text, parameters, names of the values of a sequence)"""
        helpers = []
        for name, kind in (("moved", "number"), ("within", "condition")):
            if self.chance(0.4):
                helpers += self.helper(name, kind)
        sees, taken = self.function("sees", ["t", "pos"], self.body(lambda: self.condition(self.pick(1, 2, 2, 3))))
        modify = []
        if self.chance(0.3):
            self.integers, self.conditions = [], []
            modify, more = self.function("modify", ["s", "t", "pos", "head"], self.body(self.score))
            taken += more
        self.parameters = {name: value for name, value in self.parameters.items() if name in taken}
        self.per_sequence = [name for name in self.per_sequence if name in taken]
        directives = [f"# tessera: pattern({', '.join(f'{name}={value!r}' for name, value in self.parameters.items())})"]
        if self.per_sequence:
            directives.append(f"# tessera: per_sequence({', '.join(f'{name}=i32' for name in self.per_sequence)})")
        limit = [self.pick("LIMIT: tl.constexpr = tl.constexpr(6)", "LIMIT = 6"), "", ""]
        lines = [*(limit if "LIMIT" in "".join(sees + modify) else []), *helpers, *directives, "@triton.jit", *sees]
        lines += ["", "", "@triton.jit", *modify] if modify else []
        return HEADER + "\n\n" + "\n".join(lines) + "\n", self.parameters, self.per_sequence
