"""What modules written for Triton import of its back ends and of its profiler.

Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Any


@dataclasses.dataclass(frozen=True)
class GPUTarget:
    """What the driver compiles for: ("cpu", "cpu", 1) without a GPU."""

    backend: str
    arch: int | str
    warp_size: int


class BaseBackend:
    """Named by modules that add a back end to Triton. Tessera calls none of its methods."""

    def __init__(self, target: GPUTarget) -> None:
        self.target = target


class DriverBase:
    """Named by modules that add a driver to Triton. Tessera calls none of its methods."""


def _without_effect(*_: Any, **__: Any) -> int:
    """A profile that records nothing; 0 represents its session."""
    return 0


@contextlib.contextmanager
def scope(*_: Any, **__: Any) -> Iterator[None]:
    """A part of a profile, as a context or a decorator, that records nothing."""
    yield


def profile(fn: Any = None, **_: Any) -> Any:
    """A function unchanged, or a decorator that leaves functions unchanged."""
    return (lambda one: one) if fn is None else fn


# The names of triton.profiler, without effect.
PROFILER: dict[str, Any] = {
    **dict.fromkeys(("start", "activate", "deactivate", "finalize", "enter_scope", "exit_scope", "enter_state",
                     "exit_state"), _without_effect),
    **dict.fromkeys(("scope", "cpu_timed_scope", "state", "metadata_state"), scope),
    "profile": profile}
