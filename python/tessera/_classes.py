"""Classes whose values kernels make: typing.NamedTuple and aggregates.

Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tessera import language
from tessera._literal import literal

Class = TypeVar("Class", bound=type)


def aggregate(cls: Class) -> Class:
    """Marks a class whose values kernels make, pass and return: fields with annotations, functions under
    tessera.jit, and `__init__`, if the fields are not its arguments. Values cannot change; see
    tl.aggregate_replace."""
    cls.__tessera_aggregate__ = True  # type: ignore[attr-defined]
    return cls


def is_aggregate(value: Any) -> bool:
    return isinstance(value, type) and "__tessera_aggregate__" in vars(value)


def aggregate_head(name: str, value: type, name_of: Callable[[type], str]) -> list[str]:
    """The lines of an aggregate before its functions. name_of returns the name of the class of a field."""
    lines = ["@triton.aggregate", f"class {name}:"]
    for field, annotation in vars(value).get("__annotations__", {}).items():
        if is_aggregate(annotation):
            kind = name_of(annotation)
        else:
            word = annotation.name if isinstance(annotation, language.Name) else getattr(annotation, "__name__", annotation)
            last = str(word).rsplit(".", 1)[-1]
            kind = f"triton.language.{last}" if last in ("tensor", "constexpr") else "object"
        default = literal(vars(value)[field], constant=True) if field in vars(value) else None
        lines.append(f"    {field}: {kind}" + (f" = {default}" if default else ""))
    return lines


def class_definition(name: str, value: Any) -> list[str] | None:
    """The lines that define a class of typing.NamedTuple; None for any other
    value, and where a default is a value that the language does not have."""
    fields = getattr(value, "_fields", None)
    if not isinstance(value, type) or not issubclass(value, tuple) or not fields:
        return None
    defaults = {field: literal(default) for field, default in getattr(value, "_field_defaults", {}).items()}
    if None in defaults.values():
        return None
    lines = [f"    {field}: int" + (f" = {defaults[field]}" if field in defaults else "") for field in fields]
    return ["from typing import NamedTuple", f"class {name}(NamedTuple):", *lines]
