"""The text that the compiler is given of a kernel: its function, the helpers
that it calls and the constants that it reads, from wherever Python has them.

Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import builtins
import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

from tessera import language
from tessera._classes import aggregate_head, class_definition, is_aggregate
from tessera._edits import annotation_edits, default_edits, definition_edit, edited, parsed
from tessera._literal import literal
from tessera._names import Reference, references


RUN_TIME, CONSTEXPR = "int", "constexpr"  # annotations of a value


class TupleShape(NamedTuple):
    """How a tuple is put together."""

    name: str                # of its class; empty for a plain tuple
    fields: tuple[str, ...]  # empty for a plain tuple
    values: tuple[Any, ...]  # RUN_TIME, CONSTEXPR or another shape


class Decorated:
    """Anything that a decorator of this package makes of a function."""

    fn: Any


def function_of(value: Any) -> tuple[FunctionType, str] | None:
    """The Python function below decorators and tl.constexpr, and what decorates it in the text."""
    decorator = ""
    while isinstance(value, (Decorated, language.constexpr)):
        decorator = getattr(value, "decorator", decorator)
        value = value.fn if isinstance(value, Decorated) else value.value
    return (value, decorator) if isinstance(value, FunctionType) else None


def module_import(name: str, module: ModuleType) -> str | None:
    """How the text imports a module that kernels may name."""
    path = module.__name__
    if path == "tessera" or path == "triton":
        return f"import triton as {name}"
    if path == language.__name__ or path.startswith(language.__name__ + "."):
        return f"import {language.language_name(path)} as {name}"
    return f"import math as {name}" if path == "math" else None


def definition(name: str, value: Any) -> str | None:
    """The line that gives a value the name; None for a function, and for a
    value that the language does not have."""
    if isinstance(value, ModuleType):
        return module_import(name, value)
    if isinstance(value, language.Name):
        return f"from {value.module} import {value.name} as {name}"
    if value is language.constexpr:
        return f"from triton.language import constexpr as {name}"
    text = literal(value, constant=True)
    return None if text is None else f"{name} = {text}"


def declaration(name: str, value: Any) -> str:
    """The line that tells the compiler what a value is that the language does
    not have: its message at the value's use says so."""
    if isinstance(value, type):
        return f"class {name}: pass"
    kind = type(value).__name__
    return f"{name}: {kind if kind.isidentifier() else 'object'}"


def is_same(a: Any, b: Any) -> bool:
    """Whether one definition serves both values."""
    if a is b:
        return True
    one, other = function_of(a), function_of(b)
    if one or other:
        return bool(one and other and one[0] is other[0])
    text = literal(a, constant=True)
    return text is not None and text == literal(b, constant=True)


def is_fixed(value: Any) -> bool:
    """Whether the value cannot change in place."""
    return not isinstance(value, (list, dict, set)) and (not isinstance(value, tuple) or all(map(is_fixed, value)))


CONTENTS = operator.attrgetter("cell_contents")


def getter_of(get: Callable[[Any], Any], key: Any, path: tuple[str, ...]) -> Callable[[Any], Any]:
    """Reads the attributes of what get(key) is at the moment."""
    attribute = operator.attrgetter(".".join(path))
    return lambda _: attribute(get(key))


class Constant(NamedTuple):
    """A constant of a kernel: get(key) was `value` when its text was read."""

    name: str
    get: Callable[[Any], Any]
    key: Any
    value: Any
    text: str

    def watched(self) -> Any:
        """The object that get(key) is while the constant has not changed. A list,
        dict or set may change in place: for such a constant, an object that it
        never is."""
        return self.value if is_fixed(self.value) else object()

    def now(self) -> str | None:
        """The constant's text at this moment; None if it is gone."""
        try:
            return literal(self.get(self.key), constant=True)
        except (AttributeError, KeyError, ValueError):
            return None


class Text:
    """Collects the functions of one kernel, each at the lines that it has in
    the kernel's file, so that messages name the right place; functions and
    constants from elsewhere follow at the end. Two values of one name get two
    names: `h` and `h__2`."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.lines: dict[int, str] = {}
        self.tail: list[str] = []
        self.known: dict[str, Any] = {}
        self.constants: list[Constant] = []
        self.shapes: dict[TupleShape, str] = {}  # names of classes
        self.places: set[tuple[tuple[str, ...], int]] = set()  # of the constants

    def annotation(self, shape: TupleShape | str) -> str:
        """The type of a parameter; the class of a named tuple is added."""
        if isinstance(shape, str):
            return shape
        types = [self.annotation(value) for value in shape.values]
        if not shape.fields:
            return f"tuple[{', '.join(types) or '()'}]"
        if shape not in self.shapes:
            name, count = shape.name, 1
            while name in self.known:
                count += 1
                name = f"{shape.name}__{count}"
            self.known[name] = self.shapes[shape] = name
            self.tail += ["from typing import NamedTuple", f"class {name}(NamedTuple):",
                          *(f"    {field}: {type}" for field, type in zip(shape.fields, types))]
        return self.shapes[shape]

    def add_function(self, name: str, value: Any, kernels: str | None = None,
                     shapes: Mapping[str, TupleShape | str] | None = None) -> None:
        """Appends the function under the name, and all that it uses. `kernels`
        is the decorator of the kernel itself, `shapes` the types of its
        parameters that the text does not have."""
        body, start, file = self.function_lines(name, value, kernels, shapes)
        places = range(start, start + len(body))
        if file == self.file and start > 0 and not any(place in self.lines for place in places):
            self.lines.update(zip(places, body))
        else:
            self.tail += body

    def function_lines(self, name: str, value: Any, kernels: str | None = None,
                       shapes: Mapping[str, TupleShape | str] | None = None) -> tuple[list[str], int, str | None]:
        """The lines of a function as add_function appends them, their place in
        the function's file, and the file. Appends what the function uses."""
        found = function_of(value)
        assert found is not None
        fn, decorator = found[0], found[1] if kernels is None else kernels
        text, node, first, file = parsed(fn)
        types = {parameter: self.annotation(shape) for parameter, shape in (shapes or {}).items()}
        edits = default_edits(fn, node, kernels is not None, types) + annotation_edits(node, types)
        replaced = {id(replaced) for replaced, _ in edits}
        edits.append(definition_edit(text, node, name))
        for reference in references(node, fn, replaced):
            alias = self.add_reference(fn, reference)
            if alias and alias != ".".join(reference.path):
                edits.append((reference.nodes[-1], alias))
        lines = edited(text.rstrip("\n"), edits, fn).split("\n")
        head = node.lineno - 1
        return ([decorator] if decorator else []) + lines[head:], first + head - bool(decorator), file

    def add_class(self, name: str, value: type) -> None:
        """Appends a class under tessera.aggregate, and all that its functions use."""
        methods: list[str] = []
        for member, function in vars(value).items():
            if function_of(function) and (isinstance(function, Decorated) or member == "__init__"):
                methods += ["    " + line for line in self.function_lines(member, function)[0]]
        self.tail += aggregate_head(name, value, lambda field: self.name_for(field, field.__name__, set())) + methods

    def add_reference(self, fn: FunctionType, reference: Reference) -> str | None:
        """The name in the text of what a function reads, which is added; None
        for a builtin of Python and for a variable without a value."""
        name = reference.path[0]
        closure = dict(zip(fn.__code__.co_freevars, fn.__closure__ or ()))
        get: Callable[[Any], Any]
        if name in closure:
            get, key = CONTENTS, closure[name]
        elif name in fn.__globals__:
            get, key = fn.__globals__.get, name
        else:
            return None
        try:
            value = get(key)
        except ValueError:
            return None
        reference.shorten(1 + attributes_used(value, reference.path))
        place = (reference.path, id(key if name in closure else fn.__globals__))
        if reference.path[1:]:
            get, key = getter_of(get, key, reference.path[1:]), None
            value = get(key)
        if (text := literal(value, constant=True)) is not None and place not in self.places:
            self.places.add(place)
            self.constants.append(Constant(".".join(reference.path), get, key, value, text))
            if isinstance(value, language.constexpr):
                self.constants.append(Constant(name, operator.attrgetter("value"), value, value.value, text))
        return self.name_for(value, "_".join(reference.path), reference.locals)

    def name_for(self, value: Any, wanted: str, avoid: set[str]) -> str:
        """A name for the value, which is defined where it is new and the
        language has it, and else declared: the compiler reports its use."""
        count, name = 1, wanted
        while name in avoid or name in self.known and not is_same(self.known[name], value):
            count += 1
            name = f"{wanted}__{count}"
        if name in self.known:
            return name
        if function_of(value):
            self.known[name] = value
            self.add_function(name, value)
            return name
        self.known[name] = value
        if vars(builtins).get(name, self) is not value:  # the compiler has Python's own functions
            if is_aggregate(value):
                self.add_class(name, value)
                return name
            self.tail += class_definition(name, value) or [definition(name, value) or declaration(name, value)]
        return name

    def __str__(self) -> str:
        last = max(self.lines, default=0)
        placed = [self.lines.get(number, "") for number in range(1, last + 1)]
        return "\n".join(placed + ["import triton", "import triton.language"] + self.tail) + "\n"


def attributes_used(value: Any, path: tuple[str, ...]) -> int:
    """How many attributes of the path lead from a value that the language does
    not have, such as a module of constants, to one that it has; 0 for none."""
    for used, name in enumerate(path[1:], 1):
        fields = getattr(type(value), "_fields", ())
        if name not in fields and (function_of(value) or definition("_", value)):
            return used - 1
        try:
            value = getattr(value, name)
        except AttributeError:
            return 0
    return len(path) - 1 if function_of(value) or definition("_", value) else 0


def kernel_text(value: Any, decorator: str, shapes: Mapping[str, TupleShape | str],
                functions: Sequence[Any]) -> tuple[str, str, list[Constant], list[str]]:
    """(path, text, constants, names of the functions) of a kernel and all that
    it uses, with functions that it is passed. Raises RuntimeError where Python
    does not have the text."""
    found = function_of(value)
    assert found is not None
    name = found[0].__name__
    try:
        file = inspect.getsourcefile(found[0]) or "<source>"
    except TypeError:
        file = "<source>"
    text = Text(file)
    text.known[name] = value
    text.add_function(name, value, decorator, shapes)
    names = [text.name_for(function, function.__name__, set()) for function in functions]
    return file, str(text), text.constants, names
