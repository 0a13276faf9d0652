"""The names of the kernel language, as Python sees them: `import
tessera.language as tl`. Kernels are compiled from their text, so a function of
the language is a mere name here; types and constexpr are values that a host
passes on.

Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import operator
import sys
from types import ModuleType
from typing import Any


class constexpr:  # noqa: N801 (Triton's name)
    """Marks a parameter as known while compiling; also holds such a value."""

    def __init__(self, value: Any) -> None:
        self.value = value.value if isinstance(value, constexpr) else value

    def __repr__(self) -> str:
        return f"constexpr[{self.value!r}]"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function under @tl.constexpr."""
        return self.value(*args, **kwargs)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __index__(self) -> int:
        return operator.index(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __eq__(self, other: object) -> bool:
        return bool(self.value == (other.value if isinstance(other, constexpr) else other))

    def __hash__(self) -> int:
        return hash(self.value)


def _operators() -> None:
    """Host code computes with constexprs as with their values: the result is a constexpr."""
    def binary(compute: Any) -> Any:
        return lambda a, b: constexpr(compute(a.value, constexpr(b).value))

    def swapped(compute: Any) -> Any:
        return lambda a, b: constexpr(compute(constexpr(b).value, a.value))

    def unary(compute: Any) -> Any:
        return lambda a: constexpr(compute(a.value))

    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and", "or", "xor"):
        compute = getattr(operator, name + "_" if name in ("and", "or") else name)
        setattr(constexpr, f"__{name}__", binary(compute))
        setattr(constexpr, f"__r{name}__", swapped(compute))
    for name in ("lt", "le", "gt", "ge", "getitem"):
        setattr(constexpr, f"__{name}__", binary(getattr(operator, name)))
    for name in ("neg", "pos", "invert", "abs"):
        setattr(constexpr, f"__{name}__", unary(getattr(operator, name)))


_operators()


class dtype:  # noqa: N801
    """An element type, such as tl.float32."""

    def __init__(self, name: str, bits: int) -> None:
        self.name = name
        self.primitive_bitwidth = bits

    def __repr__(self) -> str:
        return "triton.language." + self.name


class Name:
    """A function or type of the language; only kernels can use it."""

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self.name = name

    def __repr__(self) -> str:
        return f"{self.module}.{self.name}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"{self!r} is called outside of a kernel\n"
                           "HINT: call it in a function under @tessera.jit, and launch that with kernel[grid](...)")


BITS = {"int1": 1, "int8": 8, "int16": 16, "int32": 32, "int64": 64, "uint8": 8, "uint16": 16, "uint32": 32,
        "uint64": 64, "float16": 16, "bfloat16": 16, "float32": 32, "float64": 64, "float8e4nv": 8, "float8e5": 8,
        "float8e4b8": 8, "float8e4b15": 8, "float8e5b16": 8}
DTYPES = {name: dtype(name, bits) for name, bits in BITS.items()}
globals().update(DTYPES)


class Module(ModuleType):
    """A module of the language: every public name is there, and what the
    compiler does not know is an error of the kernel that uses it."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return Name(language_name(self.__name__), name)


def language_name(module: str) -> str:
    """What the compiler calls a module of this package."""
    return "triton.language" + module.removeprefix(__name__)


def _submodule(name: str) -> Module:
    module = Module(f"{__name__}.{name}")
    module.__path__ = []
    sys.modules[module.__name__] = module
    parent = sys.modules[module.__name__.rpartition(".")[0]]
    setattr(parent, name.rpartition(".")[2], module)
    return module


sys.modules[__name__].__class__ = Module
__path__: list[str] = []
for _name in ("math", "core", "standard", "random", "extra", "extra.libdevice", "extra.cuda", "extra.cuda.libdevice"):
    _submodule(_name)
