# tests/unit/language/pattern/stand_in.py - runs kernel-language text as plain Python.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""`Tile` stands for an integer of the run time: a number or a numpy array whose `//` and `%` truncate toward zero, as int32 of a
kernel does. Constexprs are Python's numbers. Truth values are numpy's, because `~True` of Python is -2."""
import ast
import os
import pathlib
import subprocess
import types

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[4]
INTERVALS = ROOT / "kernels/attention/intervals.py"


def pattern_texts(patterns):
    """What is derived from each pattern: "text\n..." or "error\n...", as PrintPattern.cpp writes it."""
    program = pathlib.Path(os.environ.get("BUILD", ROOT / "build/release")) / "bin/pattern_text"
    run = subprocess.run([program], input="".join(text.strip("\n") + "\n====\n" for text in patterns), capture_output=True, text=True, check=True)
    results = run.stdout.split("====\n")[:-1]
    assert len(results) == len(patterns), run.stderr
    return results


def plain(x):
    return x.value if isinstance(x, Tile) else x


def truncated(a, b):
    """a / b rounded toward zero, and the rest."""
    a, b = np.asarray(plain(a), dtype=np.int64), np.asarray(plain(b), dtype=np.int64)
    if not np.all(b):
        raise ZeroDivisionError
    quotient = np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))
    return Tile(quotient), Tile(a - quotient * b)


class Tile:
    def __init__(self, value):
        self.value = np.asarray(value, dtype=np.int64)

    def __add__(self, other):
        return Tile(self.value + plain(other))

    def __sub__(self, other):
        return Tile(self.value - plain(other))

    def __rsub__(self, other):
        return Tile(plain(other) - self.value)

    def __mul__(self, other):
        return Tile(self.value * plain(other))

    def __neg__(self):
        return Tile(-self.value)

    def __floordiv__(self, other):
        return truncated(self, other)[0]

    def __rfloordiv__(self, other):
        return truncated(other, self)[0]

    def __mod__(self, other):
        return truncated(self, other)[1]

    def __rmod__(self, other):
        return truncated(other, self)[1]

    def __lshift__(self, other):
        return Tile(self.value << plain(other))

    def __rshift__(self, other):
        return Tile(self.value >> plain(other))

    def __and__(self, other):
        return Tile(self.value & plain(other))

    def __invert__(self):
        return Tile(~self.value)

    def __lt__(self, other):
        return self.value < plain(other)

    def __le__(self, other):
        return self.value <= plain(other)

    def __gt__(self, other):
        return self.value > plain(other)

    def __ge__(self, other):
        return self.value >= plain(other)

    def __eq__(self, other):
        return self.value == plain(other)

    def __ne__(self, other):
        return self.value != plain(other)

    __hash__ = None
    __radd__, __rmul__, __rand__ = __add__, __mul__, __and__

    def __abs__(self):
        return Tile(np.abs(self.value))


def where(condition, a, b):
    result = np.where(condition, plain(a), plain(b))
    return result if result.dtype == bool else Tile(result)


tl = types.SimpleNamespace(
    constexpr=int, where=where, abs=abs, minimum=lambda a, b: Tile(np.minimum(plain(a), plain(b))),
    maximum=lambda a, b: Tile(np.maximum(plain(a), plain(b))), cdiv=lambda a, b: (a + b - 1) // b)


def run_time(value):
    """What a name or a `return` receives: an integer becomes a number of the run time."""
    if isinstance(value, tuple):
        return tuple(map(run_time, value))
    return Tile(value) if type(value) is int else value


class Logic(ast.NodeTransformer):
    """`and`, `or`, `not` and chained comparisons, element by element as kernels have them; names and results are numbers of the run
    time."""
    depth = 0

    def call(self, name, *operands):
        return ast.Call(ast.Attribute(ast.Name("np", ast.Load()), name, ast.Load()), list(operands), [])

    def visit_BoolOp(self, node):
        self.generic_visit(node)
        result = node.values[0]
        for value in node.values[1:]:
            result = self.call("logical_and" if isinstance(node.op, ast.And) else "logical_or", result, value)
        return result

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        return self.call("logical_not", node.operand) if isinstance(node.op, ast.Not) else node

    def visit_Compare(self, node):
        self.generic_visit(node)
        operands = [node.left, *node.comparators]
        parts = [ast.Compare(a, [op], [b]) for a, op, b in zip(operands, node.ops, operands[1:])]
        return self.call("logical_and", *parts) if len(parts) == 2 else parts[0] if len(parts) == 1 else node

    def visit_FunctionDef(self, node):
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1
        return node

    def visit_Assign(self, node):
        self.generic_visit(node)
        if self.depth:
            node.value = ast.Call(ast.Name("run_time", ast.Load()), [node.value], [])
        return node

    visit_Return = visit_Assign

    def visit_Constant(self, node):
        return self.call("bool_", node) if isinstance(node.value, bool) else node


def load(*texts):
    """The names that the texts define, run one after the other."""
    names = {"np": np, "tl": tl, "run_time": run_time, "triton": types.SimpleNamespace(jit=lambda f: f)}
    for text in texts:
        lines = [line for line in text.splitlines() if not line.startswith(("import ", "from "))]
        exec(compile(ast.fix_missing_locations(Logic().visit(ast.parse("\n".join(lines)))), "text", "exec"), names)
    return types.SimpleNamespace(**names)


def derived(pattern, result):
    """The functions of a pattern with those derived from it, and (key gaps, query gaps)."""
    head, gaps, text = result.split("\n", 2)
    assert head == "text", f"{pattern}\n{result}"
    return load(INTERVALS.read_text(), pattern, text), tuple(flag == "1" for flag in gaps.split()[1:])
