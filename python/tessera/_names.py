"""The names that a function reads from outside of itself.

Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import ast
from types import FunctionType


class Reference:
    """A name with the attributes that follow it, such as `config.sizes.M`."""

    def __init__(self, nodes: list[ast.expr], path: tuple[str, ...], local: set[str]) -> None:
        self.nodes = nodes  # of the name, of the name with one attribute, and so on
        self.path = path
        self.locals = local  # variables of the function

    def shorten(self, count: int) -> None:
        self.nodes, self.path = self.nodes[:count], self.path[:count]


class Finder:
    """Collects references; kernels have neither lambdas nor comprehensions, so
    a function's variables are those of all its nodes."""

    def __init__(self, local: set[str], left_out: set[int]) -> None:
        self.found: list[Reference] = []
        self.local = local
        self.left_out = left_out

    def visit(self, node: ast.AST, hidden: set[str]) -> None:
        """Collects from the node. `hidden`: names that are not references there."""
        if id(node) in self.left_out:
            return
        nodes: list[ast.expr] = []
        inner: ast.AST = node
        while isinstance(inner, ast.Attribute):
            nodes.append(inner)
            inner = inner.value
        if isinstance(inner, ast.Name):
            if isinstance(inner.ctx, ast.Load) and inner.id not in hidden:
                names = [one.attr for one in reversed(nodes) if isinstance(one, ast.Attribute)]
                self.found.append(Reference([inner, *reversed(nodes)], (inner.id, *names), self.local))
            return
        for child in ast.iter_child_nodes(node):
            self.visit(child, hidden)


def references(node: ast.FunctionDef, fn: FunctionType, left_out: set[int]) -> list[Reference]:
    """What the function reads that is not a variable of its own, sorted by
    name. `left_out`: nodes that are not visited, by id()."""
    local = set(fn.__code__.co_varnames + fn.__code__.co_cellvars)
    finder = Finder(local, left_out)
    # Defaults and annotations are read outside of the function: its variables do not hide names there.
    finder.visit(node.args, set())
    if node.returns:
        finder.visit(node.returns, set())
    for statement in node.body:
        finder.visit(statement, local)
    return sorted(finder.found, key=lambda reference: reference.path)
