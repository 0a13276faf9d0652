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
from tessera._source import Decorated, kernel_text, literal

OPTIONS = ("num_warps", "num_stages")
# Of GPUs, or of Triton's own compiler: taken, and without effect.
IGNORED = {"num_ctas", "maxnreg", "enable_fp_fusion", "launch_cooperative_grid", "launch_pdl", "debug",
           "warmup", "noinline", "ir_override"}

Grid = tuple[int, ...] | list[int] | Callable[[dict[str, Any]], Any]


class Launchable(Decorated):
    """What kernel[grid] works on."""

    fn: Any
    arg_names: list[str]

    def run(self, *args: Any, grid: Grid, warmup: bool = False, **kwargs: Any) -> None:
        raise NotImplementedError

    def __getitem__(self, grid: Grid) -> Callable[..., None]:
        return functools.partial(self.run, grid=grid)


def as_grid(grid: Any, kernel: str, meta: dict[str, Any]) -> tuple[int, ...]:
    """The programs along each axis; `meta` has the arguments by name."""
    if callable(grid):
        grid = grid(meta)
    if isinstance(grid, numbers.Integral):
        grid = (grid,)
    if not isinstance(grid, (tuple, list)) or not 1 <= len(grid) <= 3:
        raise ValueError(f"kernel `{kernel}`: the grid is {grid!r}\n"
                         "HINT: pass a tuple of one to three integers, or a function of META that gives one")
    return tuple(int(size) for size in grid)


def is_constexpr(parameter: inspect.Parameter) -> bool:
    note = parameter.annotation
    return note is language.constexpr or isinstance(note, str) and note.split(".")[-1].strip() == "constexpr"


# The function behind kernel[grid]: Python itself binds the arguments, and the plan for their types
# and constexprs passes on the tensors and numbers.
TEMPLATE = """
def {name}(_grid, {parameters}num_warps=None, num_stages=None, **_options):
    if _options:
        _check(_options)
    try:
        _run = _plans.get(({key}num_warps, num_stages))
    except TypeError:  # a constexpr that cannot be a key
        _run = None
    if _run is None:
        _run = _plan(({values}), num_warps, num_stages)
    if type(_grid) is not tuple:
        _grid = _as_grid(_grid, {name!r}, {{{meta}}})
    _size = len(_grid)
    if _size == 1:
        _run({runtime}_grid[0], 1, 1)
    elif _size == 2:
        _run({runtime}_grid[0], _grid[1], 1)
    else:
        _x, _y, _z = _as_grid(_grid, {name!r}, {{}})
        _run({runtime}_x, _y, _z)
"""


class JITFunction(Launchable):
    """A function of the kernel language. Its text, with what it uses of other
    functions and of module constants, is read at the first launch."""

    def __init__(self, fn: Callable[..., Any], do_not_specialize: Any = None, debug: bool = False) -> None:
        if not isinstance(fn, FunctionType):
            raise TypeError(f"tessera.jit is for a function, and was given {fn!r}\n"
                            "HINT: put @tessera.jit right above def, below autotune and heuristics")
        functools.update_wrapper(self, fn)
        self.fn = fn
        self.parameters = list(inspect.signature(fn).parameters.values())
        self.arg_names = [parameter.name for parameter in self.parameters]
        self.constexprs = {p.name for p in self.parameters if is_constexpr(p)}
        settings = []
        if do_not_specialize:
            names = [self.arg_names[n] if isinstance(n, int) else n for n in do_not_specialize]
            settings.append(f"do_not_specialize={names!r}")
        if debug:
            settings.append("debug=True")
        self.decorator = "@triton.jit" + (f"({', '.join(settings)})" if settings else "")
        self._numbers: dict[tuple[str, ...], int] = {}
        self._launch: Callable[..., None] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"kernel `{self.__name__}` is called like a function\n"
                           f"HINT: launch it with {self.__name__}[grid](...), or call it in another kernel")

    def __getitem__(self, grid: Grid) -> Callable[..., None]:
        return functools.partial(self._launch or self._make_launch(), grid)

    def run(self, *args: Any, grid: Grid, warmup: bool = False, **kwargs: Any) -> None:
        (self._launch or self._make_launch())(grid, *args, **kwargs)

    @functools.cached_property
    def source(self) -> tuple[str, str]:
        """(path, text) that the compiler is given."""
        return kernel_text(self)

    def _make_launch(self) -> Callable[..., None]:
        plain = [p for p in self.parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
        if len(plain) != len(self.parameters):
            raise TypeError(f"kernel `{self.__name__}` has parameters with * or **\nHINT: name each of them")
        defaults = {f"_default_{p.name}": p.default for p in plain if p.default is not p.empty}
        scope = {"_plans": {}, "_plan": self._plan, "_as_grid": as_grid, "_check": self._check_options, **defaults}
        key, parameters = [], []
        for p in plain:
            parameters.append(p.name + (f"=_default_{p.name}" if f"_default_{p.name}" in defaults else ""))
            key += [f"type({p.name})"] + ([p.name] if p.name in self.constexprs else [])
        names = self.arg_names
        own = [name for name in OPTIONS if name in names]
        text = TEMPLATE.format(
            name=self.__name__, parameters="".join(f"{p}, " for p in parameters), key="".join(f"{k}, " for k in key),
            values="".join(f"{n}, " for n in names), meta=", ".join(f"{n!r}: {n}" for n in names),
            runtime="".join(f"{n}, " for n in names if n not in self.constexprs))
        for name in own:  # a constexpr of the kernel that sets the option as well
            text = text.replace(f"{name}=None, ", "", 1)
        exec(compile(text, f"<launch of {self.__name__}>", "exec"), scope)  # noqa: S102 (our own text)
        self._plans = scope["_plans"]
        self._launch = scope[self.__name__]
        return self._launch

    def _check_options(self, options: dict[str, Any]) -> None:
        for name in options:
            if name not in IGNORED:
                raise TypeError(f"kernel `{self.__name__}` has no parameter `{name}`\n"
                                f"HINT: it has {', '.join(self.arg_names)}, and takes num_warps and num_stages")

    def _plan(self, values: tuple[Any, ...], num_warps: Any, num_stages: Any) -> Callable[..., None]:
        """What passes these arguments on; found again by types and constexprs."""
        order, key, constexprs, options = "", [], [], []
        exact = True
        for parameter, value in zip(self.parameters, values):
            key.append(type(value))
            if parameter.name in self.constexprs:
                text = literal(value, "tl")
                if text is None:
                    raise TypeError(f"kernel `{self.__name__}`: constexpr `{parameter.name}` is {value!r}\n"
                                    "HINT: pass a number, a bool, a string, a dtype such as tl.float32, or None")
                constexprs.append(f"{parameter.name}={text}")
                key.append(value)
                # Equal keys need not be equal values: 0.0 and -0.0, or what is mutable.
                exact &= not isinstance(value, (float, list, tuple, language.constexpr))
            else:
                order += self._letter(parameter.name, value)
        for name, option in zip(OPTIONS, (num_warps, num_stages)):
            if option is not None:
                options.append(f"{name}={option!r}")
        texts = ", ".join(constexprs), ", ".join(options)
        number = self._numbers.get((order, *texts))
        if number is None:
            path, source = self.source
            number = torch.ops.tessera.jit_kernel.default(path, source, self.__name__, order.replace("i", "s"), *texts)
            self._numbers[order, *texts] = number
        run = make_run(number, [n for n in self.arg_names if n not in self.constexprs], order)
        if exact:
            self._plans[(*key, num_warps, num_stages)] = run
        return run

    def _letter(self, name: str, value: Any) -> str:
        """How an argument is passed on: a tensor, a number, a number of another library, None."""
        if isinstance(value, torch.Tensor):
            return "t"
        if value is None:
            return "n"
        if type(value) in (int, float, bool):
            return "b" if type(value) is bool else "s"
        if isinstance(value, numbers.Integral):
            return "i"
        if isinstance(value, (str, language.dtype, torch.dtype)) or callable(value):
            raise TypeError(f"kernel `{self.__name__}`: argument `{name}` is {value!r}\n"
                            f"HINT: such a value is a constexpr: write `{name}: tl.constexpr` in the kernel")
        raise TypeError(f"kernel `{self.__name__}`: argument `{name}` is a {type(value).__name__}\n"
                        "HINT: pass a tensor, an int, a float, a bool or None")


def make_run(number: int, names: list[str], order: str) -> Callable[..., None]:
    """A function of the run-time arguments and the grid."""
    tensors = ", ".join(name for name, letter in zip(names, order) if letter == "t")
    scalars = ", ".join(f"int({name})" if letter == "i" else name
                        for name, letter in zip(names, order) if letter in "sbi")
    text = f"lambda {''.join(f'{n}, ' for n in names)}_x, _y, _z: _op({number}, [{tensors}], [{scalars}], _x, _y, _z)"
    return eval(text, {"_op": torch.ops.tessera.jit_launch.default})  # noqa: S307 (our own text)


def jit(fn: Callable[..., Any] | None = None, *, do_not_specialize: Any = None, debug: bool = False,
        **options: Any) -> Any:
    """A function of the kernel language as a kernel: kernel[grid](arguments,
    BLOCK=128, num_warps=4). Without a function, the decorator. Options that
    Triton has besides (version, noinline, repr ...) are taken, without effect."""
    if fn is None:
        return functools.partial(jit, do_not_specialize=do_not_specialize, debug=debug, **options)
    return JITFunction(fn, do_not_specialize, debug)


class ConstexprFunction(Decorated):
    """A function that kernels call while they are compiled, and Python as it is."""

    decorator = "@triton.constexpr_function"

    def __init__(self, fn: Callable[..., Any]) -> None:
        functools.update_wrapper(self, fn)
        self.fn = fn

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.fn(*args, **kwargs)


def constexpr_function(fn: Callable[..., Any]) -> ConstexprFunction:
    return ConstexprFunction(fn)


def cdiv(x: int, y: int) -> int:
    """x / y, rounded up."""
    return (x + y - 1) // y


def next_power_of_2(n: int) -> int:
    """The smallest power of 2 that is not below n; 0 for 0."""
    return 1 << (n - 1).bit_length() if n > 0 else 0
