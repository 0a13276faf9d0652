"""Functions that host code and kernels call alike.

Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tessera import language
from tessera._literal import plain
from tessera._source import Decorated


class ConstexprFunction(Decorated):
    """A function that kernels call while they are compiled, and Python as it is."""

    decorator = "@triton.constexpr_function"

    def __init__(self, fn: Callable[..., Any]) -> None:
        functools.update_wrapper(self, fn)
        self.fn = fn

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.fn(*map(unwrapped, args), **{name: unwrapped(value) for name, value in kwargs.items()})


def unwrapped(value: Any) -> Any:
    return value.value if isinstance(value, language.constexpr) else value


def constexpr_function(fn: Callable[..., Any]) -> ConstexprFunction:
    return ConstexprFunction(fn)


def cdiv(x: int, y: int) -> int:
    """x / y, rounded up."""
    x, y = plain(x), plain(y)
    return (x + y - 1) // y


def next_power_of_2(n: int) -> int:
    """The smallest power of 2 that is not below n; 0 for 0."""
    n = plain(n)
    return 1 << (n - 1).bit_length() if n > 0 else 0
