"""tessera.heuristics, with Triton's meaning.

Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tessera._jit import Grid, JITFunction, Launchable


class Wrapper(Launchable):
    """A kernel with something decided before each launch."""

    def __init__(self, fn: Any, what: str) -> None:
        if not isinstance(fn, Launchable):
            raise TypeError(f"tessera.{what} is for a kernel, and was given {fn!r}\n"
                            f"HINT: put @tessera.{what} above @tessera.jit")
        self.fn = fn
        self.arg_names = fn.arg_names
        self.__name__ = fn.__name__
        self.__doc__ = fn.__doc__

    @property
    def jit_function(self) -> JITFunction:
        """The kernel below all decorators."""
        fn = self.fn
        while not isinstance(fn, JITFunction):
            fn = fn.fn
        return fn

    @property
    def base_fn(self) -> Any:
        return self.jit_function.fn

    def check_names(self, names: Iterable[str], what: str) -> None:
        for name in names:
            if name not in self.arg_names:
                raise ValueError(f"tessera.{what}: kernel `{self.__name__}` has no parameter `{name}`\n"
                                 f"HINT: it has {', '.join(self.arg_names)}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.fn(*args, **kwargs)


LAUNCH_OPTIONS = ("num_warps", "num_stages")


class Heuristics(Wrapper):
    """Constexprs and options of the launch that are computed from all arguments by name."""

    def __init__(self, fn: Any, arg_names: list[str], values: dict[str, Callable[[dict[str, Any]], Any]]) -> None:
        super().__init__(fn, "heuristics")
        self.values = values
        self.check_names((name for name in values if name not in LAUNCH_OPTIONS), "heuristics")

    def run(self, /, *args: Any, grid: Grid, warmup: bool = False, **kwargs: Any) -> Any:
        for name, value in self.values.items():
            kwargs[name] = value({**dict(zip(self.arg_names, args)), **kwargs, "grid": grid, "warmup": warmup})
        return self.fn.run(*args, grid=grid, warmup=warmup, **kwargs)


def heuristics(values: dict[str, Callable[[dict[str, Any]], Any]]) -> Callable[[Any], Heuristics]:
    """Constexprs from functions of all arguments by name, at every launch."""
    return lambda fn: Heuristics(fn, getattr(fn, "arg_names", []), values)
