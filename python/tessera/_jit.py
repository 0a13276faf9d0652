"""tessera.jit: a Python function as a kernel, launched with kernel[grid](...).

Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

import torch

from tessera import language
from tessera._compiled import CompiledKernel
from tessera._launcher import make_launcher, make_run
from tessera._literal import literal, plain
from tessera._options import IGNORED, OPTIONS
from tessera._source import Constant, Decorated, kernel_text

Grid = tuple[int, ...] | list[int] | Callable[[dict[str, Any]], Any]


class Launchable(Decorated):
    """What kernel[grid] works on."""

    fn: Any
    arg_names: list[str]

    def run(self, /, *args: Any, grid: Grid, warmup: bool = False, **kwargs: Any) -> Any:
        raise NotImplementedError

    def warmup(self, /, *args: Any, grid: Grid, **kwargs: Any) -> Any:
        """Compiles what such a launch needs, and launches nothing. A torch dtype
        as an argument stands for an aligned tensor of that type."""
        return self.run(*args, grid=grid, warmup=True, **kwargs)

    def __getitem__(self, grid: Grid) -> Callable[..., Any]:
        return functools.partial(self.run, grid=grid)


def is_constexpr(parameter: inspect.Parameter) -> bool:
    note = parameter.annotation
    return note is language.constexpr or isinstance(note, str) and note.split(".")[-1].strip() == "constexpr"


class JITFunction(Launchable):
    """A function of the kernel language. Its text, with what it uses of other
    functions and of module constants, is read at the first launch."""

    def __init__(self, fn: Callable[..., Any], do_not_specialize: Any = None, debug: bool | None = False,
                 do_not_specialize_on_alignment: Any = None) -> None:
        if not isinstance(fn, FunctionType):
            raise TypeError(f"tessera.jit is for a function, and was given {fn!r}\n"
                            "HINT: put @tessera.jit right above def, below autotune and heuristics")
        functools.update_wrapper(self, fn)
        self.fn = fn
        self.signature = inspect.signature(fn)
        self.parameters = list(self.signature.parameters.values())
        self.arg_names = [parameter.name for parameter in self.parameters]
        self.constexprs = {p.name for p in self.parameters if is_constexpr(p)}
        # A parameter of this name that is not a constexpr takes the option's place.
        self.options = [name for name in OPTIONS if name not in self.arg_names or name in self.constexprs]
        self.debug = bool(debug)
        self.settings = {"do_not_specialize": self._named(do_not_specialize),
                         "do_not_specialize_on_alignment": self._named(do_not_specialize_on_alignment)}
        self.pre_run_hooks: list[Callable[..., Any]] = []
        self._made: dict[tuple[str, ...], tuple[Callable[..., None], CompiledKernel]] = {}
        self._sources: dict[bool, tuple[str, str]] = {}
        self._constants: list[Constant] = []
        self._watched: list[tuple[Callable[[Any], Any], Any, Any]] = []
        self._plans: dict[Any, tuple[Callable[..., None], CompiledKernel]] = {}
        self._launch: Callable[..., Any] | None = None

    def _named(self, parameters: Any) -> list[str]:
        """The names of parameters that are given by name or number."""
        every = dict(enumerate(self.arg_names)) | {name: name for name in self.arg_names}
        return [every[plain(one)] for one in parameters or () if plain(one) in every]

    @property
    def decorator(self) -> str:
        return self.decorator_for(self.debug)

    def decorator_for(self, debug: bool) -> str:
        settings = [f"{name}={names!r}" for name, names in self.settings.items() if names]
        settings += ["debug=True"] * debug
        return "@triton.jit" + (f"({', '.join(settings)})" if settings else "")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"kernel `{self.__name__}` is called like a function\n"
                           f"HINT: launch it with {self.__name__}[grid](...), or call it in another kernel")

    def __getitem__(self, grid: Grid) -> Callable[..., Any]:
        return functools.partial(self._launch or self._make_launch(), grid)

    def run(self, /, *args: Any, grid: Grid, warmup: bool = False, **kwargs: Any) -> Any:
        if warmup:
            return self._warm(args, kwargs)
        return (self._launch or self._make_launch())(grid, *args, **kwargs)

    def add_pre_run_hook(self, hook: Callable[..., Any]) -> None:
        """hook(arguments of the launch) is called before each launch."""
        self.pre_run_hooks.append(hook)
        self._launch = None

    def source(self, debug: bool | None = None) -> tuple[str, str]:
        """(path, text) that the compiler is given."""
        debug = self.debug if debug is None else debug
        if debug not in self._sources:
            path, text, constants = kernel_text(self, self.decorator_for(debug))
            self._sources[debug] = path, text
            if not self._watched:
                self._constants = constants
                self._watched += [(one.get, one.key, one.watched()) for one in constants]
        return self._sources[debug]

    def _changed(self) -> None:
        """Raises RuntimeError if a constant has another value than in the text."""
        for constant in self._constants:
            now = constant.now()
            if now != constant.text:
                raise RuntimeError(
                    f"kernel `{self.__name__}`: the constant `{constant.name}` was {constant.text} when the kernel was "
                    f"first compiled, and is {now or 'not a compile-time value'} now\n"
                    "HINT: pass the value as a tl.constexpr argument")

    def _make_launch(self) -> Callable[..., Any]:
        if any(p.kind is not p.POSITIONAL_OR_KEYWORD for p in self.parameters):
            raise TypeError(f"kernel `{self.__name__}` has parameters with * or **\nHINT: name each of them")
        launch = make_launcher(self.__name__, self.parameters, self.constexprs, self.options, {
            "plans": self._plans, "plan": self._plan, "check": self._check_options, "watched": self._watched,
            "changed": self._changed})
        if self.pre_run_hooks:
            hooks, plain_launch = self.pre_run_hooks, launch

            def launch(grid: Grid, /, *args: Any, **kwargs: Any) -> Any:
                for hook in hooks:
                    hook(*args, **kwargs)
                return plain_launch(grid, *args, **kwargs)

        self._launch = launch
        return launch

    def _check_options(self, options: dict[str, Any]) -> None:
        for name in options:
            if name not in IGNORED:
                raise TypeError(f"kernel `{self.__name__}` has no parameter `{name}`\n"
                                f"HINT: it has {', '.join(self.arg_names)}, and takes num_warps and num_stages")

    def _warm(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> CompiledKernel:
        """Compiles and loads the code of such a launch."""
        options = {name: value for name, value in kwargs.items() if name not in self.arg_names}
        self._check_options({name: value for name, value in options.items() if name not in self.options})
        bound = self.signature.bind(*args, **{n: value for n, value in kwargs.items() if n in self.arg_names})
        bound.apply_defaults()
        given = bound.arguments
        for name, value in given.items():
            if name not in self.constexprs and isinstance(value, torch.dtype):
                given[name] = torch.empty(0, dtype=value)
        self._changed()
        taken = tuple(given.get(name, options.get(name)) for name in self.options)
        compiled = self._plan(tuple(given.values()), taken)[1]
        compiled.prepare()
        return compiled

    def _plan(self, values: tuple[Any, ...], taken: tuple[Any, ...]) -> tuple[Callable[..., None], CompiledKernel]:
        """What passes these arguments on; found again by types and constexprs."""
        order, key, constexprs = "", [], []
        exact = True
        for parameter, value in zip(self.parameters, values):
            key.append(type(value))
            if parameter.name in self.constexprs:
                constexprs.append(f"{parameter.name}={self._constexpr(parameter.name, value)}")
                key.append(value)
                # Equal keys need not be equal values: 0.0 and -0.0, or a mutable value.
                exact &= not isinstance(value, (float, list, tuple, language.constexpr))
            else:
                order += self._letter(parameter.name, value)
        options = {name: plain(value) for name, value in zip(self.options, taken) if value is not None}
        debug = bool(options.pop("debug", self.debug))
        texts = (order, ", ".join(constexprs), ", ".join(f"{name}={value!r}" for name, value in options.items()),
                 str(debug))
        plan = self._made.get(texts)
        if plan is None:
            plan = self._made[texts] = self._make_plan(values, taken, debug, *texts[:3])
        if exact:
            self._plans[(*key, *taken)] = plan
        return plan

    def _make_plan(self, values: tuple[Any, ...], taken: tuple[Any, ...], debug: bool, order: str, constexprs: str,
                   options: str) -> tuple[Callable[..., None], CompiledKernel]:
        path, source = self.source(debug)
        number = torch.ops.tessera_internal.jit_kernel.default(path, source, self.__name__, order.lower(), constexprs, options)
        names = [name for name in self.arg_names if name not in self.constexprs]
        passed = [value for name, value in zip(self.arg_names, values) if name not in self.constexprs]
        compiled = CompiledKernel(
            self, number, [value for value, letter in zip(passed, order) if letter == "t"],
            [plain(value) for value, letter in zip(passed, order) if letter in "sbSB"],
            {name: value for name, value in zip(self.options, taken)
             if value is not None and name not in self.arg_names})
        return make_run(self.__name__, number, names, order), compiled

    def _constexpr(self, name: str, value: Any) -> str:
        text = literal(value, "tl")
        if text is None:
            raise TypeError(f"kernel `{self.__name__}`: constexpr `{name}` is {value!r}\n"
                            "HINT: pass a number, a bool, a string, a dtype such as tl.float32, None, or a tuple")
        return text

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
        if isinstance(value, (str, tuple, language.dtype, torch.dtype)) or callable(value):
            raise TypeError(f"kernel `{self.__name__}`: argument `{name}` is {value!r}\n"
                            f"HINT: such a value is a constexpr: write `{name}: tl.constexpr` in the kernel")
        raise TypeError(f"kernel `{self.__name__}`: argument `{name}` is a {type(value).__name__}\n"
                        "HINT: pass a tensor, an int, a float, a bool or None")


def jit(fn: Callable[..., Any] | None = None, *, version: Any = None, repr: Any = None, launch_metadata: Any = None,
        do_not_specialize: Any = None, do_not_specialize_on_alignment: Any = None, debug: bool | None = None,
        noinline: bool | None = None) -> Any:
    """A function of the kernel language as a kernel: kernel[grid](arguments,
    BLOCK=128, num_warps=4). Without a function, the decorator. version, repr,
    launch_metadata and noinline are accepted, without effect."""
    if fn is None:
        return functools.partial(jit, do_not_specialize=do_not_specialize, debug=debug,
                                 do_not_specialize_on_alignment=do_not_specialize_on_alignment)
    return JITFunction(fn, do_not_specialize, debug, do_not_specialize_on_alignment)
