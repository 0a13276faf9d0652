"""tessera.jit: a Python function as a kernel, launched with kernel[grid](...).

Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import functools
import inspect
import numbers
from collections.abc import Callable
from types import FunctionType
from typing import Any

import torch

from tessera import language
from tessera._arguments import FUNCTION, Arguments, is_tuple, kind_of
from tessera._compiled import CompiledKernel
from tessera._edits import remember
from tessera._launcher import fits, make_launcher, make_run, too_large
from tessera._literal import plain
from tessera._options import IGNORED, OPTIONS
from tessera._source import Constant, Decorated, TupleShape, kernel_text

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


def declares_float(parameter: inspect.Parameter) -> bool:
    """Whether the annotation is tl.float32 or tl.float64, for which Triton also takes an integer."""
    note = parameter.annotation
    name = note.name if isinstance(note, language.dtype) else note.split(".")[-1].strip() if isinstance(note, str) else ""
    return name in ("float32", "float64", "fp32", "fp64")


def stand_ins(value: Any) -> Any:
    """The argument of a warmup with tensors for torch dtypes, also in tuples."""
    if is_tuple(value):
        items = [stand_ins(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return torch.empty(0, dtype=value) if isinstance(value, torch.dtype) else value


class JITFunction(Launchable):
    """A function of the kernel language. Its text is read when it is decorated,
    what it uses of other functions and of module constants at the first launch."""

    def __init__(self, fn: Callable[..., Any], do_not_specialize: Any = None, debug: bool | None = False,
                 do_not_specialize_on_alignment: Any = None) -> None:
        if not isinstance(fn, FunctionType):
            raise TypeError(f"tessera.jit is for a function, and was given {fn!r}\n"
                            "HINT: put @tessera.jit right above def, below autotune and heuristics")
        functools.update_wrapper(self, fn)
        self.fn = fn
        remember(fn)
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
        self._made: dict[Any, tuple[Callable[..., None], CompiledKernel]] = {}
        self._sources: dict[Any, tuple[str, str, list[str]]] = {}
        self._tuples: set[str] = set()  # parameters that were tuples or functions in a launch
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
        """(path, text) that the compiler is given of a launch without tuples and functions."""
        return self._text(self.debug if debug is None else debug, {}, [])[:2]

    def _text(self, debug: bool, shapes: dict[str, TupleShape | str], functions: list[Any]) -> tuple[str, str, list[str]]:
        """(path, text, names of the functions). The text has the types of parameters that are tuples, and the functions."""
        key = (debug, tuple(shapes.items()), tuple(functions))
        if key not in self._sources:
            path, text, constants, names = kernel_text(self, self.decorator_for(debug), shapes, functions)
            self._sources[key] = path, text, names
            known = {(one.name, id(one.key)) for one in self._constants}
            new = [one for one in constants if (one.name, id(one.key)) not in known]
            self._constants += new
            self._watched += [(one.get, one.key, one.watched()) for one in new]
        return self._sources[key]

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
        if any(p.kind not in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) for p in self.parameters):
            raise TypeError(f"kernel `{self.__name__}` has a parameter with * or **, or before /\nHINT: name each of them")
        launch = make_launcher(self.__name__, self.parameters, self.constexprs, self._tuples, self.options, {
            "kind": kind_of, "plans": self._plans, "plan": self._plan, "check": self._check_options, "watched": self._watched,
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
            if name not in self.constexprs:
                given[name] = stand_ins(value)
        self._changed()
        taken = tuple(given.get(name, options.get(name)) for name in self.options)
        compiled = self._plan(tuple(given.values()), taken)[1]
        compiled.prepare()
        return compiled

    def _plan(self, values: tuple[Any, ...], taken: tuple[Any, ...]) -> tuple[Callable[..., None], CompiledKernel]:
        """What passes these arguments on; found again by types and constexprs."""
        found = Arguments(self.__name__)
        key: list[Any] = []
        count = 0  # of the arguments that are not constexprs
        for parameter, value in zip(self.parameters, values):
            name, constexpr = parameter.name, parameter.name in self.constexprs
            if declares_float(parameter) and isinstance(value, numbers.Integral):
                found.add(name, float(value), constexpr, f"float(a{count})")
            else:
                found.add(name, value, constexpr, f"a{count}")
            count += not constexpr
            if name in found.shapes and name not in self._tuples:
                self._tuples.add(name)
                self._launch = None
            key += [kind_of(value) if name in self._tuples else type(value)] + ([value] if constexpr else [])
        options = {name: plain(value) for name, value in zip(self.options, taken) if value is not None}
        debug = bool(options.pop("debug", self.debug))
        text = ", ".join(f"{name}={value!r}" for name, value in options.items())
        made = (found.order, tuple(found.places), tuple(found.constexprs), tuple(found.shapes.items()), tuple(found.functions), text, debug)
        plan = self._made.get(made)
        if plan is None:
            plan = self._made[made] = self._make_plan(found, taken, count, debug, text)
        if found.exact:
            self._plans[(*key, *taken)] = plan
        return plan

    def _make_plan(self, found: Arguments, taken: tuple[Any, ...], count: int, debug: bool,
                   options: str) -> tuple[Callable[..., None], CompiledKernel]:
        scalars = [plain(value) for value, letter in zip(found.values, found.order) if letter in "sbSB"]
        if not all(isinstance(value, float) or fits(value) for value in scalars):
            raise too_large(self.__name__, found.names, tuple(map(plain, found.values)))
        path, source, names = self._text(debug, found.shapes, found.functions)
        constexprs = FUNCTION.sub(lambda place: names[int(place[1])], ", ".join(found.constexprs))
        number = torch.ops.tessera_internal.jit_kernel.default(
            path, source, self.__name__, found.order.lower(), constexprs, options)
        launch = make_run(self.__name__, number, count, found.names, found.places, found.order)
        return launch, CompiledKernel(
            self, number, [value for value, letter in zip(found.values, found.order) if letter == "t"],
            scalars, {name: value for name, value in zip(self.options, taken) if value is not None and name not in self.arg_names}, launch)


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
