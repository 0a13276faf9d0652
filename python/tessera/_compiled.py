"""What a launch or a warmup returns: the compiled kernel.

Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import functools
import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch

from tessera._launcher import as_grid

# The vector registers of AVX-512. Programs that compute an occupancy divide by the number of registers.
CPU_REGISTERS = 32


def stand_in(value: Any) -> Any:
    """A tensor of the same type and alignment that needs no memory; any other
    value unchanged."""
    if not isinstance(value, torch.Tensor):
        return value
    try:
        aligned = value.data_ptr() % 16 == 0
    except RuntimeError:  # a fake tensor
        aligned = True
    return torch.empty(32 if not aligned else 0, dtype=value.dtype, device=value.device)[0 if aligned else 1:]


class Stages(dict[str, str]):
    def __missing__(self, stage: str) -> str:
        raise KeyError(f"the code has no stage `{stage}`; it has {', '.join(self) or 'none, as code of a CPU'}")


class CompiledKernel:
    """A kernel with its constexprs and options, as compiled for the classes of
    the arguments that it was first launched or warmed up with."""

    def __init__(self, jit: Any, number: int, tensors: list[torch.Tensor], scalars: list[Any],
                 options: dict[str, Any], launch: Callable[..., None]) -> None:
        self.jit, self.number, self.options, self._launch = jit, number, options, launch
        self.name = jit.__name__
        # They live as long as the kernel: the caller's tensors must not.
        self.arguments = [stand_in(tensor) for tensor in tensors], scalars

    def prepare(self) -> None:
        """Compiles and loads the kernel's code."""
        torch.ops.tessera_internal.jit_prepare.default(self.number, *self.arguments)

    @functools.cached_property
    def description(self) -> dict[str, Any]:
        """Target, options, memory and stages of the code."""
        found: dict[str, Any] = json.loads(torch.ops.tessera_internal.jit_describe.default(self.number, *self.arguments))
        return found

    @property
    def asm(self) -> Stages:
        """Text by stage: "ptx" for a GPU, none for a CPU."""
        return Stages(self.description["stages"])

    @property
    def metadata(self) -> SimpleNamespace:
        """`shared` is the shared memory of a block on a GPU, and the scratch
        memory of a program on a CPU, at least 1: programs divide by it."""
        known = self.description
        shared = max(1, known["shared"] if known["threads"] else known["scratch"])
        return SimpleNamespace(name=self.name, num_warps=known["num_warps"], num_stages=known["num_stages"],
                               num_ctas=1, shared=shared, target=known["target"], **self.rest())

    def rest(self) -> dict[str, Any]:
        return {"debug": bool(self.options.get("debug")), "warp_size": 32 if self.description["threads"] else 1}

    @property
    def n_regs(self) -> int:
        """Registers of a thread: for a GPU an upper bound."""
        threads = self.description["threads"]
        return min(255, 65536 // threads) if threads else CPU_REGISTERS

    n_spills = 0

    @property
    def n_max_threads(self) -> int:
        return self.description["threads"] or 1

    def _init_handles(self) -> None:
        """Triton loads the code here; here it is loaded already."""

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        """Launches this code with all arguments of the kernel in order, keyword-only ones, too. As in Triton the values
        of constexprs have no effect, and those after the other arguments may be left out."""
        names, constexprs = self.jit.arg_names, self.jit.constexprs
        positions = [position for position, name in enumerate(names) if name not in constexprs]

        def runner(*args: Any) -> None:
            if not (positions[-1] if positions else -1) < len(args) <= len(names):
                raise TypeError(f"kernel `{self.name}`: its compiled code takes {len(names)} arguments in order, got {len(args)}\n"
                                f"HINT: pass {', '.join(names)}")
            size = as_grid(grid, self.name, dict(zip(names, args)))
            self._launch(*(args[position] for position in positions), *size, *(1,) * (3 - len(size)))

        return runner

    def __repr__(self) -> str:
        return f"CompiledKernel({self.name})"
