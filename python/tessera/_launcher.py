"""The functions that launch a kernel: they are generated for its parameters.

Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import inspect
import numbers
import operator
from collections.abc import Callable
from typing import Any

import torch

from tessera._literal import plain

# The function behind kernel[grid]: Python itself binds the arguments, and the plan for their types
# and constexprs passes on the tensors and numbers. No parameter of the kernel begins with P.
TEMPLATE = """
def Plaunch(Pgrid, /, {parameters}{options}**Pmore):
    if Pmore:
        Pcheck(Pmore)
    for Pget, Pkey, Pvalue in Pwatched:
        if Pget(Pkey) is not Pvalue:
            Pchanged()
            break
    try:
        Pfound = Pplans.get(({key}))
    except PTypeError:  # a constexpr that cannot be a key
        Pfound = None
    if Pfound is None:
        Pfound = Pplan(({values}), ({taken}))
    Prun, Pcompiled = Pfound
    if Ptype(Pgrid) is not Ptuple:
        Pgrid = Pas_grid(Pgrid, Pname, {{{meta}}})
    Psize = Plen(Pgrid)
    if Psize == 1:
        Prun({runtime}Pgrid[0], 1, 1)
    elif Psize == 2:
        Prun({runtime}Pgrid[0], Pgrid[1], 1)
    else:
        Px, Py, Pz = Pas_grid(Pgrid, Pname, {{}})
        Prun({runtime}Px, Py, Pz)
    return Pcompiled
"""


def as_grid(grid: Any, kernel: str, meta: dict[str, Any]) -> tuple[int, ...]:
    """The programs along each axis; `meta` has the arguments by name."""
    if callable(grid):
        grid = grid(meta)
    if isinstance(grid, numbers.Integral):
        grid = (grid,)
    try:
        if isinstance(grid, (tuple, list)) and 1 <= len(grid) <= 3:
            return tuple(operator.index(size) for size in grid)
    except TypeError:
        pass
    raise ValueError(f"kernel `{kernel}`: the grid is {grid!r}\n"
                     "HINT: pass a tuple of one to three integers, or a function of META that gives one")


def prefix_for(names: list[str]) -> str:
    """A beginning that none of the names has."""
    prefix = "_"
    while any(name.startswith(prefix) for name in names):
        prefix += "_"
    return prefix


def make_launcher(kernel: str, parameters: list[inspect.Parameter], constexprs: set[str], tuples: set[str],
                  options: tuple[str, ...], members: dict[str, Any]) -> Callable[..., Any]:
    """launch(grid, ...) of a kernel with these parameters. `tuples` are those
    that were tuples or functions before. `options` are those that change the
    code; a parameter of that name sets the option as well. `members`: kind, plans, plan, check, watched and changed, as the template uses them."""
    names = [parameter.name for parameter in parameters]
    prefix = prefix_for([*names, *options])
    scope = {prefix + name: value for name, value in members.items()}
    scope.update({prefix + "type": type, prefix + "tuple": tuple, prefix + "len": len, prefix + "TypeError": TypeError,
                  prefix + "as_grid": as_grid, prefix + "name": kernel})
    declared, key = [], []
    for parameter in parameters:
        name = parameter.name
        default = f"{prefix}default_{name}"
        if parameter.default is not parameter.empty:
            scope[default] = parameter.default
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in declared:
            declared.append("*")
        declared.append(f"{name}={default}" if default in scope else name)
        key += [f"{prefix}{'kind' if name in tuples else 'type'}({name})"] + ([name] if name in constexprs else [])

    def listed(texts: list[str]) -> str:
        return "".join(f"{text}, " for text in texts)

    others = [f"{name}=None" for name in options if name not in names]
    text = TEMPLATE.replace("P", prefix).format(
        parameters=listed(declared), options=listed(["*"] * ("*" not in declared) + others if others else []),
        key=listed([*key, *options]), values=listed(names), taken=listed(list(options)),
        meta=", ".join(f"{name!r}: {name}" for name in names),
        runtime=listed([name for name in names if name not in constexprs]))
    exec(compile(text, f"<launch of {kernel}>", "exec"), scope)  # noqa: S102 (our own text)
    launch = scope[prefix + "launch"]
    launch.__name__ = launch.__qualname__ = kernel  # for errors of Python about arguments
    found: Callable[..., Any] = launch
    return found


def fits(value: int) -> bool:
    """Whether a signed or an unsigned integer of 64 bits has the value."""
    return -(1 << 63) <= value < 1 << 64


def too_large(kernel: str, names: list[str], values: tuple[Any, ...]) -> OverflowError:
    for name, value in zip(names, values):
        if isinstance(value, int) and not fits(value):
            return OverflowError(f"kernel `{kernel}`: argument `{name}` is {value}, which does not fit 64 bits\n"
                                 "HINT: kernels compute with at most 64 bits")
    return OverflowError(f"kernel `{kernel}`: a number does not fit 64 bits\nHINT: pass smaller numbers")


def make_run(kernel: str, number: int, count: int, names: list[str], places: list[str], order: str) -> Callable[..., None]:
    """A function of `count` run-time arguments, a0, a1 and so on, and the grid.
    `names` and `places` are those of the values in them. A letter of the order
    in upper case is a number of another library."""
    tensors = ", ".join(place for place, letter in zip(places, order) if letter == "t")
    scalars = ", ".join(f"plain({place})" if letter.isupper() else place
                        for place, letter in zip(places, order) if letter in "sbSB")
    arguments = "".join(f"a{at}, " for at in range(count))
    every = "".join(f"{place}, " for place in places)
    text = (f"def run({arguments}x, y, z):\n"
            f"    try:\n"
            f"        op({number}, [{tensors}], [{scalars}], x, y, z)\n"
            f"    except OverflowError as error:\n"
            f"        raise too_large(kernel, names, ({every})) from error\n")
    scope = {"op": torch.ops.tessera_internal.jit_launch.default, "plain": plain, "too_large": too_large, "kernel": kernel,
             "names": names}
    exec(compile(text, f"<run of {kernel}>", "exec"), scope)  # noqa: S102 (our own text)
    found: Callable[..., None] = scope["run"]
    return found
