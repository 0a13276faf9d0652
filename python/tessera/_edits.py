"""Functions as text, and changes of that text at nodes of their trees.

Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import ast
import inspect
import re
import textwrap
from types import FunctionType
from typing import Any
from weakref import WeakKeyDictionary

from tessera._literal import literal

Source = tuple[list[str], int, str | None]  # lines, number of the first, file
_sources: WeakKeyDictionary[FunctionType, Source] = WeakKeyDictionary()


def _source_of(fn: FunctionType) -> Source:
    lines, first = inspect.getsourcelines(fn)
    return lines, first, inspect.getsourcefile(fn)


def remember(fn: FunctionType) -> None:
    """Keeps the text that the function has now: its file may change before the
    first launch. A function without a text is an error when its text is needed."""
    try:
        _sources[fn] = _source_of(fn)
    except (OSError, TypeError):
        pass


def parsed(fn: FunctionType) -> tuple[str, ast.FunctionDef, int, str | None]:
    """Text, tree, first line and file of a function. Raises RuntimeError."""
    try:
        lines, first, file = _sources.get(fn) or _source_of(fn)
    except (OSError, TypeError) as error:
        raise RuntimeError(f"the source text of `{fn.__qualname__}` is not available: {error}\n"
                           "HINT: kernels are compiled from their text: define it in a file or a notebook") \
            from error
    text = textwrap.dedent("".join(lines))
    try:
        node = ast.parse(text).body[0]
    except SyntaxError as error:
        raise RuntimeError(f"the source text of `{fn.__qualname__}` cannot be read on its own: {error}\n"
                           "HINT: write it as a function at the top of its file") from error
    if not isinstance(node, ast.FunctionDef):
        raise RuntimeError(f"`{fn.__qualname__}` is not a plain function\nHINT: write def NAME(...): ...")
    return text, node, first or 1, file


Edit = tuple[Any, str]  # a node of the tree and the text that replaces it


class Span:
    """A place in a text, as nodes of a tree have it."""

    def __init__(self, lineno: int, col_offset: int, end_col_offset: int) -> None:
        self.lineno, self.end_lineno = lineno, lineno
        self.col_offset, self.end_col_offset = col_offset, end_col_offset


def definition_edit(text: str, node: ast.FunctionDef, name: str) -> Edit:
    line = text.split("\n")[node.lineno - 1].encode()
    found = re.compile(rb"def\s+([^\s(\[]+)").match(line, node.col_offset)
    assert found is not None
    return Span(node.lineno, found.start(1), found.end(1)), name


def annotation_edits(node: ast.FunctionDef, types: dict[str, str]) -> list[Edit]:
    """The annotations of parameters with these types."""
    edits: list[Edit] = []
    for argument in [*node.args.args, *node.args.kwonlyargs]:
        if argument.arg in types:
            text = types[argument.arg]
            edits.append((argument.annotation, text) if argument.annotation else (argument, f"{argument.arg}: {text}"))
    return edits


def default_edits(fn: FunctionType, node: ast.FunctionDef, is_kernel: bool, types: dict[str, str]) -> list[Edit]:
    """The expressions of defaults with their values: Python evaluates a default
    when the function is defined. A launch passes each argument of a kernel, so
    a default that the language does not have becomes None there. Parameters
    with a type of `types` have no default."""
    pairs = list(zip(reversed(node.args.defaults), reversed(fn.__defaults__ or ())))
    by_name = [*zip(reversed(node.args.args), reversed(node.args.defaults)), *zip(node.args.kwonlyargs, node.args.kw_defaults)]
    left_out = [default for argument, default in by_name if default is not None and argument.arg in types]
    for argument, default in zip(node.args.kwonlyargs, node.args.kw_defaults):
        if default is not None and argument.arg in (fn.__kwdefaults__ or {}):
            pairs.append((default, (fn.__kwdefaults__ or {})[argument.arg]))
    pairs = [pair for pair in pairs if pair[0] not in left_out]
    texts = [(default, literal(value) or ("None" if is_kernel else None)) for default, value in pairs
             if not isinstance(default, ast.Constant)]
    return [(default, text) for default, text in texts if text is not None] + [(default, "...") for default in left_out]


def edited(text: str, edits: list[Edit], fn: FunctionType) -> str:
    """The text with other text at these nodes. Lines keep their numbers."""
    lines = [line.encode() for line in text.split("\n")]
    for node, new in sorted(edits, key=lambda edit: (edit[0].lineno, edit[0].col_offset), reverse=True):
        first, last = node.lineno - 1, node.end_lineno - 1
        if isinstance(node, (ast.Name, ast.Attribute)) and (first != last or (
                lines[first][node.col_offset:node.end_col_offset] != ast.unparse(node).encode())):
            raise RuntimeError(f"`{ast.unparse(node)}` in `{fn.__qualname__}` needs another name in the kernel's text, "
                               "and its place is not known\n"
                               "HINT: outside of the function, give the value a name that nothing else has")
        rest = lines[last][node.end_col_offset:]
        lines[first] = lines[first][:node.col_offset] + new.encode()
        lines[first + 1:last + 1] = [b""] * (last - first)
        lines[last] += rest
    return b"\n".join(lines).decode()
