"""The text that the compiler is given of a kernel: its function, the helpers
that it calls and the constants that it reads, from wherever Python has them.

Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import ast
import inspect
import math
import numbers
import textwrap
from types import FunctionType, ModuleType
from typing import Any

from tessera import language


class Decorated:
    """Anything that a decorator of this package makes of a function."""

    fn: Any


def function_of(value: Any) -> tuple[FunctionType, str] | None:
    """The Python function below decorators, and what decorates it in the text."""
    decorator = ""
    while isinstance(value, Decorated):
        decorator = getattr(value, "decorator", decorator)
        value = value.fn
    return (value, decorator) if isinstance(value, FunctionType) else None


def literal(value: Any, types: str = "triton.language") -> str | None:
    """A compile-time value in the language, whose types are members of
    `types`; None for what is none."""
    if isinstance(value, language.constexpr):
        return literal(value.value, types)
    if isinstance(value, language.dtype):
        return f"{types}.{value.name}"
    if value is None or isinstance(value, bool):
        return repr(value)
    if isinstance(value, str):
        return repr(str(value))
    if isinstance(value, numbers.Integral):
        return repr(int(value))
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else f'float("{value}")'
    if isinstance(value, (tuple, list)):
        items = [literal(item, types) for item in value]
        return None if None in items else "(" + "".join(f"{item}, " for item in items) + ")"
    return None


def module_import(name: str, module: ModuleType) -> str | None:
    """How the text imports a module that kernels may name."""
    path = module.__name__
    if path == "tessera" or path == "triton":
        return f"import triton as {name}"
    if path == language.__name__ or path.startswith(language.__name__ + "."):
        return f"import {language.language_name(path)} as {name}"
    return f"import math as {name}" if path == "math" else None


def read_names(node: ast.AST) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load)}


class Text:
    """Collects the functions of one kernel, each at the lines that it has in
    the kernel's file, so that messages name the right place; what comes from
    elsewhere follows at the end."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.lines: dict[int, str] = {}
        self.tail: list[str] = []
        self.known: dict[str, Any] = {}

    def add_function(self, name: str, value: Any) -> None:
        found = function_of(value)
        assert found is not None
        fn, decorator = found
        try:
            lines, first = inspect.getsourcelines(fn)
            file = inspect.getsourcefile(fn)
        except (OSError, TypeError) as error:
            raise RuntimeError(f"the source text of `{fn.__qualname__}` is not to be had: {error}\n"
                               "HINT: kernels are compiled from their text: define it in a file or a notebook") \
                from error
        text = textwrap.dedent("".join(lines))
        try:
            node = ast.parse(text).body[0]
        except SyntaxError as error:
            raise RuntimeError(f"the source text of `{fn.__qualname__}` cannot be read on its own: {error}\n"
                               "HINT: write it as a function at the top of its file") from error
        if not isinstance(node, ast.FunctionDef):
            raise RuntimeError(f"`{fn.__qualname__}` is no plain function\nHINT: write def NAME(...): ...")
        lines = text.splitlines()
        head = node.lineno - 1
        lines[head] = lines[head].replace(f"def {node.name}", f"def {name}", 1)
        body = ([decorator] if decorator else []) + lines[head:]
        start = (first or 1) + head - bool(decorator)
        places = range(start, start + len(body))
        if file == self.file and start > 0 and not any(place in self.lines for place in places):
            self.lines.update(zip(places, body))
        else:
            self.tail += body
        node.decorator_list = []
        closure = dict(zip(fn.__code__.co_freevars, fn.__closure__ or ()))
        # Defaults are read outside of the function, where its variables do not hide names of the file.
        local = fn.__code__.co_varnames + fn.__code__.co_cellvars
        inside = set().union(*map(read_names, node.body)).difference(local)
        for used in sorted(inside | read_names(node.args)):
            if used in closure:
                self.add(used, closure[used].cell_contents)
            elif used in fn.__globals__:
                self.add(used, fn.__globals__[used])

    def add(self, name: str, value: Any) -> None:
        """A name that a function reads, with what it stands for in Python."""
        if name in self.known:
            known = self.known[name]
            if known is not value and (literal(known) is None or literal(known) != literal(value)):
                raise RuntimeError(f"`{name}` means different things in the kernel and in a helper from another file\n"
                                   "HINT: rename one of them")
            return
        self.known[name] = value
        if isinstance(value, ModuleType):
            line = module_import(name, value)
        elif isinstance(value, language.Name):
            line = f"from {value.module} import {value.name} as {name}"
        elif function_of(value):
            return self.add_function(name, value)
        elif value is language.constexpr:
            line = f"from triton.language import constexpr as {name}"
        else:
            text = literal(value)
            line = None if text is None else f"{name} = {text}"
        if line:
            self.tail.append(line)

    def __str__(self) -> str:
        last = max(self.lines, default=0)
        placed = [self.lines.get(number, "") for number in range(1, last + 1)]
        return "\n".join(placed + ["import triton", "import triton.language"] + self.tail) + "\n"


def kernel_text(value: Any) -> tuple[str, str]:
    """(path, text) of a kernel and all that it uses. Raises RuntimeError where
    Python does not have the text."""
    found = function_of(value)
    assert found is not None
    name = found[0].__name__
    try:
        file = inspect.getsourcefile(found[0]) or "<source>"
    except TypeError:
        file = "<source>"
    text = Text(file)
    text.known[name] = value
    text.add_function(name, value)
    return file, str(text)
