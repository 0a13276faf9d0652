# tests/patterns/masks/pattern_reference.py - attention of a pattern's file in fp64, from the file's text alone.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""The interpreter follows Python's tree of the file and computes `sees` and `modify` for every head, query and key. Parameters are
Python's numbers. Positions, heads, values of a sequence and every number that a name or a `return` received are numbers of the run
time: torch tensors, whose `//` and `%` truncate toward zero as they do in a kernel."""
import ast
import operator

import torch

ARITHMETIC = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.BitAnd: operator.and_,
              ast.BitOr: operator.or_, ast.BitXor: operator.xor, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
              ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow}
COMPARISONS = {ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq,
               ast.NotEq: operator.ne}


def run_time(x):
    """A number as a tensor; texts, tensors and None as they are."""
    if isinstance(x, bool):
        return torch.tensor(x)
    if isinstance(x, int):
        return torch.tensor(x, dtype=torch.int64)
    return torch.tensor(x, dtype=torch.float64) if isinstance(x, float) else x


def is_run_time(*operands):
    return any(isinstance(x, torch.Tensor) for x in operands)


def binary(op, a, b):
    if not is_run_time(a, b):
        return ARITHMETIC[op](a, b)
    a, b = run_time(a), run_time(b)
    if op is ast.FloorDiv:
        return torch.div(a, b, rounding_mode="trunc")
    result = torch.fmod(a, b) if op is ast.Mod else ARITHMETIC[op](a, b)
    if result.dtype == torch.int64 and result.numel() and result.abs().max() > LARGEST:
        raise TooLarge
    return result


def cdiv(a, b):
    return binary(ast.FloorDiv, a + b - 1, b)


FUNCTIONS = {
    "where": lambda c, a, b: torch.where(run_time(c), run_time(a), run_time(b)), "minimum": lambda a, b: torch.minimum(run_time(a), run_time(b)),
    "maximum": lambda a, b: torch.maximum(run_time(a), run_time(b)), "abs": lambda x: run_time(x).abs(), "cdiv": cdiv,
    "sigmoid": lambda x: run_time(x).sigmoid(), "exp2": lambda x: run_time(x).exp2(), "sin": lambda x: run_time(x).sin(),
    "constexpr": lambda x: x,
}


# Larger numbers could overflow int32 where bounds of a tile are computed from them.
LARGEST = 2**22


class TooLarge(ValueError):
    """An integer of the run time is above LARGEST."""


class Returned(Exception):
    def __init__(self, value):
        super().__init__()
        self.value = value


class Program:
    """The functions and constants of a file."""

    def __init__(self, text):
        self.functions, self.constants = {}, {}
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef):
                self.functions[node.name] = node
            elif isinstance(node, ast.AnnAssign):
                self.constants[node.target.id] = self.value(node.value, {})
            elif isinstance(node, ast.Assign):
                self.constants[node.targets[0].id] = self.value(node.value, {})

    def takes(self, function):
        return [argument.arg for argument in self.functions[function].args.args]

    def call(self, function, names):
        """The result of a function whose arguments are in `names`."""
        try:
            self.run(self.functions[function].body, dict(names))
        except Returned as returned:
            return run_time(returned.value)
        raise ValueError(f"{function} returns nothing")

    def run(self, body, names):
        for node in body:
            if isinstance(node, ast.Return):
                raise Returned(self.value(node.value, names))
            if isinstance(node, ast.If):
                self.run(node.body if self.value(node.test, names) else node.orelse, names)
            elif isinstance(node, ast.Assign):
                names[node.targets[0].id] = run_time(self.value(node.value, names))
            elif isinstance(node, ast.AnnAssign):  # x: tl.constexpr = ...
                names[node.target.id] = self.value(node.value, names)
            elif isinstance(node, ast.AugAssign):
                names[node.target.id] = run_time(binary(type(node.op), names[node.target.id], self.value(node.value, names)))

    def value(self, node, names):
        return getattr(self, type(node).__name__)(node, names)

    def Constant(self, node, names):
        return node.value

    def Name(self, node, names):
        return names[node.id] if node.id in names else self.constants[node.id]

    def BinOp(self, node, names):
        return binary(type(node.op), self.value(node.left, names), self.value(node.right, names))

    def UnaryOp(self, node, names):
        x = self.value(node.operand, names)
        if isinstance(node.op, ast.USub):
            return -x
        is_truth = isinstance(x, bool) or is_run_time(x) and x.dtype == torch.bool
        if isinstance(node.op, ast.Not) or is_truth:
            return x.logical_not() if is_run_time(x) else not x
        return ~x

    def BoolOp(self, node, names):
        is_and = isinstance(node.op, ast.And)
        result = self.value(node.values[0], names)
        for other in node.values[1:]:
            if not is_run_time(result):  # decides by itself
                result = self.value(other, names) if bool(result) == is_and else result
                continue
            x = run_time(self.value(other, names))
            result = result.logical_and(x) if is_and else result.logical_or(x)
        return result

    def Compare(self, node, names):
        left, result = self.value(node.left, names), None
        for op, comparator in zip(node.ops, node.comparators):
            right = self.value(comparator, names)
            one = COMPARISONS[type(op)](left, right)
            result = one if result is None else result & one
            left = right
        return result

    def IfExp(self, node, names):
        return self.value(node.body if self.value(node.test, names) else node.orelse, names)

    def Call(self, node, names):
        arguments = [self.value(argument, names) for argument in node.args]
        if isinstance(node.func, ast.Name) and node.func.id in self.functions:
            return self.call(node.func.id, dict(zip(self.takes(node.func.id), arguments)))
        return FUNCTIONS[node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id](*arguments)


def grid(length, heads):
    """Positions of queries [1, length, 1] and keys [1, 1, length], and heads [heads, 1, 1]."""
    at = torch.arange(length)
    return {"t": at[None, :, None], "pos": at[None, None, :], "head": torch.arange(heads)[:, None, None]}


def call_on(program, function, known):
    return program.call(function, {name: known[name] for name in program.takes(function)})


def mask(program, length, heads, parameters):
    """What `sees` gives for [head, query, key]."""
    if "sees" not in program.functions:
        return grid(length, 1)["pos"].le(grid(length, 1)["t"]).expand(heads, length, length)
    return call_on(program, "sees", {**grid(length, heads), **parameters}).expand(heads, length, length)


def attention(text, q, k, v, lengths, parameters, per_sequence=None):
    """(o, lse [heads, tokens], probabilities [heads, queries, keys] of each sequence) of fp64 tensors q [tokens, heads, D], k and v
    [tokens, key heads, D]. per_sequence: name -> numbers."""
    program, heads, group = Program(text), q.shape[1], q.shape[1] // k.shape[1]
    outputs, sums, probabilities, start = [], [], [], 0
    for index, length in enumerate(lengths):
        part = slice(start, start + length)
        start += length
        known = {**parameters, **{name: run_time(values[index]) for name, values in (per_sequence or {}).items()}}
        s = torch.einsum("thd,shd->hts", q[part], k[part].repeat_interleave(group, 1)) / q.shape[2] ** 0.5
        if "modify" in program.functions:
            s = call_on(program, "modify", {**grid(length, heads), **known, "s": s})
        shown = mask(program, length, heads, known)
        s = s.masked_fill(~shown, float("-inf"))
        sums.append(s.detach().logsumexp(2))
        # A row without keys has the output 0 and no gradient.
        weights = torch.where(shown.any(2, keepdim=True), s, 0.0).softmax(2) * shown
        outputs.append(torch.einsum("hts,she->the", weights, v[part].repeat_interleave(group, 1)))
        probabilities.append(weights.detach())
    return torch.cat(outputs), torch.cat(sums, 1), probabilities


def term_size(probabilities, q, k, v, do, o, lengths):
    """Root mean square, over the elements of dk, of the root of the sum of the squares of scale * p * (|dp| + |delta|) * |q|: what dk would be
    if its terms p * (dp - delta) * q did not cancel. Each term has a rounding error of about its size here."""
    group, squares, start = q.shape[1] // k.shape[1], [], 0
    for p, length in zip(probabilities, lengths):
        part = slice(start, start + length)
        start += length
        dp = torch.einsum("the,she->hts", do[part], v[part].repeat_interleave(group, 1)).abs()
        delta = (do[part] * o[part]).sum(-1).abs().T[:, :, None]
        terms = (p * (dp + delta)).square()
        of_heads = torch.einsum("hts,thd->shd", terms, q[part].square()) / q.shape[2]
        squares.append(of_heads.unflatten(1, (-1, group)).sum(2))
    return torch.cat(squares).mean().sqrt().item()
