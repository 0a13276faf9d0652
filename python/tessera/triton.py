"""Makes `import triton` give tessera, for modules that were written for Triton:

    import tessera.triton
    tessera.triton.install()          # or: with tessera.triton.installed(): ...
    import a_module_with_triton_kernels

Nothing here happens on `import tessera`.

Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import torch

import tessera
from tessera import language, testing
from tessera._autotune import Autotuner, Config, Heuristics, autotune, heuristics
from tessera._jit import JITFunction, Launchable, cdiv, constexpr_function, jit, next_power_of_2

# What modules compare triton.__version__ with: the release whose language this is.
VERSION = "3.6.0"


class OutOfResources(RuntimeError):
    """Named by modules that catch it; tessera raises RuntimeError."""


class Driver:
    """triton.runtime.driver.active: where kernels run."""

    def get_active_torch_device(self) -> torch.device:
        return torch.device("cuda", torch.cuda.current_device()) if torch.cuda.is_available() else torch.device("cpu")

    def get_current_device(self) -> int:
        return torch.cuda.current_device() if torch.cuda.is_available() else 0

    def get_current_target(self) -> Any:
        if not torch.cuda.is_available():
            return SimpleNamespace(backend="cpu", arch="cpu", warp_size=1)
        major, minor = torch.cuda.get_device_capability()
        return SimpleNamespace(backend="cuda", arch=10 * major + minor, warp_size=32)

    def get_benchmarker(self) -> Any:
        return testing.do_bench


def _module(name: str, **members: Any) -> ModuleType:
    module = ModuleType(name, f"{name}, as tessera has it")
    module.__path__ = []
    module.__dict__.update(members)
    return module


def _modules() -> dict[str, ModuleType]:
    """All modules that `import triton...` can name."""
    driver = _module("triton.runtime.driver", active=Driver())
    errors = _module("triton.runtime.errors", OutOfResources=OutOfResources)
    jit_module = _module("triton.runtime.jit", JITFunction=JITFunction, KernelInterface=Launchable, jit=jit)
    autotuner = _module("triton.runtime.autotuner", Autotuner=Autotuner, Config=Config, Heuristics=Heuristics,
                        OutOfResources=OutOfResources, autotune=autotune, heuristics=heuristics)
    runtime = _module("triton.runtime", driver=driver, errors=errors, jit=jit_module, autotuner=autotuner,
                      Autotuner=Autotuner, Config=Config, Heuristics=Heuristics, JITFunction=JITFunction,
                      OutOfResources=OutOfResources, autotune=autotune, heuristics=heuristics)
    top = _module("triton", __version__=VERSION, Config=Config, autotune=autotune, cdiv=cdiv,
                  constexpr_function=constexpr_function, heuristics=heuristics, jit=jit, language=language,
                  next_power_of_2=next_power_of_2, runtime=runtime, testing=testing, JITFunction=JITFunction,
                  OutOfResources=OutOfResources, tessera=tessera)
    modules = {module.__name__: module for module in (top, runtime, driver, errors, jit_module, autotuner)}
    modules["triton.testing"] = testing
    for name, module in list(sys.modules.items()):
        if name == language.__name__ or name.startswith(language.__name__ + "."):
            modules[language.language_name(name)] = module
    return modules


_installed: dict[str, ModuleType] = {}
_torch_found: list[Any] = []  # torch's own answer to whether there is a Triton


def _hide_from_torch() -> None:
    """torch.compile looks for Triton's compiler where `import triton` works. It finds none here, and compiles for CPUs as without."""
    known = importlib.import_module("torch.utils._triton")
    _torch_found.append(known.has_triton_package)
    known.has_triton_package = lambda: False


def _show_to_torch() -> None:
    if _torch_found:
        importlib.import_module("torch.utils._triton").has_triton_package = _torch_found.pop()


def install() -> None:
    """From now on `import triton` gives tessera in this process. Raises
    RuntimeError where the real Triton is imported already."""
    if _installed:
        return
    if "triton" in sys.modules:
        raise RuntimeError("triton is imported in this process already, from "
                           f"{getattr(sys.modules['triton'], '__file__', 'elsewhere')}\n"
                           "HINT: call tessera.triton.install() before the first import of triton")
    _hide_from_torch()
    _installed.update(_modules())
    sys.modules.update(_installed)


def uninstall() -> None:
    """`import triton` gives what is installed under that name. Modules that
    were imported meanwhile keep tessera."""
    for name, module in _installed.items():
        if sys.modules.get(name) is module:
            del sys.modules[name]
    _installed.clear()
    _show_to_torch()


@contextlib.contextmanager
def installed() -> Iterator[None]:
    """install() for a block; where it was installed before, it stays so."""
    before = bool(_installed)
    install()
    try:
        yield
    finally:
        if not before:
            uninstall()
