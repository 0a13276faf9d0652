"""The arguments of one launch: tuples taken apart into their values, and functions.

Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import re
from typing import Any

import torch

from tessera import language
from tessera._descriptor import TensorDescriptor
from tessera._literal import literal, plain
from tessera._source import CONSTEXPR, RUN_TIME, Decorated, TupleShape, function_of

FUNCTION = re.compile("\0([0-9]+)\0")  # stands for the name of a function in the kernel's text


def is_tuple(value: Any) -> bool:
    return isinstance(value, tuple) and not isinstance(value, torch.Size)


def holds_function(value: Any) -> bool:
    return isinstance(value, Decorated) or is_tuple(value) and any(map(holds_function, value))


def is_known(value: Any) -> bool:
    """Whether a value is known while compiling, as Triton decides it: a tl.constexpr, or a function."""
    return isinstance(value, (language.constexpr, Decorated))


def kind_of(value: Any) -> Any:
    """What of an argument the kernel's text depends on, for the key of a plan."""
    if is_tuple(value):
        return (type(value), *map(kind_of, value))
    if isinstance(value, TensorDescriptor):
        return value.kind()
    return (value.__class__, unwrapped(value)) if is_known(value) else value.__class__


def unwrapped(value: Any) -> Any:
    return value.value if isinstance(value, language.constexpr) else value


class Arguments:
    """Collects the arguments of a launch in the order of the parameters."""

    def __init__(self, kernel: str) -> None:
        self.kernel = kernel
        self.order = ""                          # a letter for each value that is known at run time
        self.names: list[str] = []               # of these values: "n", "Q.ptr"
        self.places: list[str] = []              # the same in the call: "a1", "a0[0]"
        self.values: list[Any] = []
        self.constexprs: list[str] = []          # NAME=value
        self.functions: list[Any] = []
        self.shapes: dict[str, TupleShape | str] = {}  # of parameters, where the text does not have it
        self.exact = True                        # equal keys are equal launches

    def add(self, name: str, value: Any, constexpr: bool, place: str) -> None:
        """Adds a parameter; `place` is its name in the call."""
        if constexpr and not (is_tuple(value) and (hasattr(value, "_fields") or holds_function(value))):
            self.constexprs.append(f"{name}={self._known(name, unwrapped(value))}")
            # Equal keys need not be equal values: 0.0 and -0.0, or a mutable value.
            self.exact &= not isinstance(value, (float, list, tuple, language.constexpr))
        elif is_tuple(value) or isinstance(value, TensorDescriptor):
            known: dict[str, str] = {}
            self.shapes[name] = (self._tuple(name, "", value, constexpr, place, known) if is_tuple(value)
                                 else self._descriptor(name, "", value, place, known))
            if known:
                self.constexprs.append(f"{name}={{{', '.join(f'{key!r}: {text}' for key, text in known.items())}}}")
        elif isinstance(value, Decorated):
            self.shapes[name] = CONSTEXPR
            self.constexprs.append(f"{name}={self._known(name, value)}")
        else:
            self._at_run_time(name, value, place)

    def _tuple(self, name: str, field: str, value: Any, constexpr: bool, place: str, known: dict[str, str]) -> TupleShape:
        names = getattr(type(value), "_fields", ())
        children = []
        for number, item in enumerate(value):
            at = f"{field}.{names[number] if names else number}" if field else str(names[number] if names else number)
            if is_tuple(item):
                children.append(self._tuple(name, at, item, constexpr, f"{place}[{number}]", known))
            elif isinstance(item, TensorDescriptor):
                children.append(self._descriptor(name, at, item, f"{place}[{number}]", known))
            elif constexpr or is_known(item):
                known[at] = self._known(f"{name}.{at}", unwrapped(item))
                self.exact &= not isinstance(unwrapped(item), (float, list, tuple))
                children.append(CONSTEXPR)
            else:
                self._at_run_time(f"{name}.{at}", item, f"{place}[{number}]")
                children.append(RUN_TIME)
        return TupleShape(type(value).__name__ if names else "", tuple(names), tuple(children))

    def _descriptor(self, name: str, field: str, value: TensorDescriptor, place: str, known: dict[str, str]) -> str:
        """Takes a descriptor apart; returns its type in the text. The last stride is 1 by that type."""
        at = f"{field}." if field else ""
        value.check_launch(f"kernel `{self.kernel}`: argument `{name}{field and '.'}{field}`")
        self._at_run_time(f"{name}.{at}base", value.base, f"{place}.base")
        for part, numbers in (("shape", value.shape), ("strides", value.strides[:-1])):
            for axis, number in enumerate(numbers):
                self._at_run_time(f"{name}.{at}{part}.{axis}", number, f"{place}.{part}[{axis}]")
        known |= {f"{at}block_shape.{axis}": str(size) for axis, size in enumerate(value.block_shape)}
        known |= {f"{at}padding": repr(value.padding), f"{at}round_f32_to_tf32": str(bool(value.round_f32_to_tf32))}
        return f"triton.language.tensor_descriptor[{len(value.shape)}]"

    def _known(self, name: str, value: Any) -> str:
        """A compile-time value as text."""
        if callable(value) and not isinstance(value, type) and function_of(value):
            if getattr(value, "__name__", "") == "<lambda>":
                raise TypeError(f"kernel `{self.kernel}`: constexpr `{name}` is a lambda\n"
                                "HINT: pass a function with a name that is decorated with @triton.jit")
            number = next((at for at, known in enumerate(self.functions) if known is value), len(self.functions))
            if number == len(self.functions):
                self.functions.append(value)
            return f"\0{number}\0"
        text = literal(value, "tl")
        if text is None:
            raise TypeError(f"kernel `{self.kernel}`: constexpr `{name}` is {value!r}\n"
                            "HINT: pass a number, a bool, a string, a dtype such as tl.float32, None, a tuple, or a "
                            "function that is decorated with @triton.jit")
        return text

    def _at_run_time(self, name: str, value: Any, place: str) -> None:
        self.order += self._letter(name, value)
        self.names.append(name)
        self.places.append(place)
        self.values.append(value)

    def _letter(self, name: str, value: Any) -> str:
        """How an argument is passed on: a tensor, a number, a bool, None; a
        number of another library in upper case."""
        if isinstance(value, torch.Tensor):
            return "t"
        if value is None:
            return "n"
        number = plain(value)
        if type(number) in (bool, int, float):
            letter = "b" if type(number) is bool else "s"
            return letter if number is value else letter.upper()
        if "." in name:
            raise TypeError(f"kernel `{self.kernel}`: `{name}`, a value of a tuple, is {value!r}\n"
                            "HINT: pass a tensor, an int, a float, a bool, None, a tuple of these, a @triton.jit function, "
                            "or tl.constexpr(value)")
        if isinstance(value, (str, tuple, language.dtype, torch.dtype)) or callable(value):
            raise TypeError(f"kernel `{self.kernel}`: argument `{name}` is {value!r}\n"
                            f"HINT: such a value is a constexpr: write `{name}: tl.constexpr` in the kernel")
        raise TypeError(f"kernel `{self.kernel}`: argument `{name}` is a {type(value).__name__}\n"
                        "HINT: pass a tensor, a TensorDescriptor, an int, a float, a bool, None or a tuple of these")
