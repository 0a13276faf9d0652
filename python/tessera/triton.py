"""Makes `import triton` give tessera, for modules that were written for Triton:

    import tessera.triton
    tessera.triton.install()          # or: with tessera.triton.installed(): ...
    import a_module_with_triton_kernels

Nothing here happens on `import tessera`.

Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.machinery
import sys
from collections.abc import Callable, Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import torch

import tessera
from tessera import language, testing
from tessera._autotune import Autotuner, autotune
from tessera._backends import PROFILER, BaseBackend, DriverBase, GPUTarget
from tessera._compiled import CompiledKernel
from tessera._config import Config
from tessera._descriptor import TensorDescriptor
from tessera._driver import Driver
from tessera._heuristics import Heuristics, heuristics
from tessera._classes import aggregate
from tessera._host import cdiv, constexpr_function, next_power_of_2
from tessera._jit import JITFunction, Launchable, jit
from tessera._literal import TORCH_DTYPES

# What modules compare triton.__version__ with: the release whose language and autotune these are.
VERSION = "3.9.0"


class OutOfResources(RuntimeError):
    """Named by modules that catch it; tessera raises RuntimeError."""


class MockTensor:
    """Named by modules that pass one to warmup(); there, a torch dtype does."""

    @staticmethod
    def wrap_dtype(arg: Any) -> Any:
        return arg


class Knobs(SimpleNamespace):
    """triton.knobs: any setting can be written and read; none has an effect."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        group = Knobs() if self is knobs else None
        setattr(self, name, group)
        return group


knobs = Knobs()


def reinterpret(tensor: torch.Tensor, dtype: Any) -> torch.Tensor:
    """The tensor's memory as elements of another type."""
    known = {name: of_torch for of_torch, name in TORCH_DTYPES.items()}
    if isinstance(dtype, torch.dtype):
        return tensor.view(dtype)
    if getattr(dtype, "name", None) not in known:
        raise TypeError(f"reinterpret: {dtype!r} is not a type of torch's tensors\n"
                        "HINT: pass a dtype such as tl.float8e5")
    return tensor.view(known[dtype.name])


def set_allocator(allocator: Any) -> None:
    """Kernels take no memory from the host's allocator: without effect."""


def _module(name: str, **members: Any) -> ModuleType:
    module = ModuleType(name, f"{name}, as tessera has it")
    module.__path__ = []
    module.__dict__.update(members)
    return module


def _modules() -> dict[str, ModuleType]:
    """All modules that `import triton...` can name."""
    driver = _module("triton.runtime.driver", active=Driver())
    names = {"Autotuner": Autotuner, "Config": Config, "Heuristics": Heuristics, "OutOfResources": OutOfResources,
             "autotune": autotune, "heuristics": heuristics}
    errors = _module("triton.runtime.errors", OutOfResources=OutOfResources, PTXASError=RuntimeError,
                     AutotunerError=ValueError, InterpreterError=RuntimeError)
    jit_module = _module("triton.runtime.jit", JITFunction=JITFunction, KernelInterface=Launchable, jit=jit,
                         MockTensor=MockTensor, reinterpret=reinterpret, constexpr_function=constexpr_function)
    autotuner = _module("triton.runtime.autotuner", **names)
    runtime = _module("triton.runtime", driver=driver, errors=errors, jit=jit_module, autotuner=autotuner,
                      JITFunction=JITFunction, KernelInterface=Launchable, MockTensor=MockTensor,
                      reinterpret=reinterpret, **names)
    compiler_errors = _module("triton.compiler.errors", CompilationError=RuntimeError,
                              CompileTimeAssertionFailure=RuntimeError)
    compiler = _module("triton.compiler", CompiledKernel=CompiledKernel, CompilationError=RuntimeError,
                       errors=compiler_errors)
    compiler.compiler = _module("triton.compiler.compiler", CompiledKernel=CompiledKernel)
    profiler = _module("triton.profiler", **PROFILER)
    backends_compiler = _module("triton.backends.compiler", BaseBackend=BaseBackend, GPUTarget=GPUTarget)
    backends_driver = _module("triton.backends.driver", DriverBase=DriverBase, GPUDriver=DriverBase)
    # Triton's back ends by name; tessera has other ones.
    backends = _module("triton.backends", backends={}, compiler=backends_compiler, driver=backends_driver)
    descriptor = _module("triton.tools.tensor_descriptor", TensorDescriptor=TensorDescriptor)
    tools = _module("triton.tools", tensor_descriptor=descriptor)
    knobs_module = _module("triton.knobs", **{"__getattr__": lambda name: getattr(knobs, name)})
    top = _module("triton", __version__=VERSION, aggregate=aggregate, cdiv=cdiv, constexpr_function=constexpr_function, jit=jit,
                  language=language, next_power_of_2=next_power_of_2, runtime=runtime, testing=testing,
                  JITFunction=JITFunction, KernelInterface=Launchable, MockTensor=MockTensor, compiler=compiler,
                  CompilationError=RuntimeError, TritonError=RuntimeError, InterpreterError=RuntimeError,
                  knobs=knobs_module, reinterpret=reinterpret, set_allocator=set_allocator, tools=tools,
                  backends=backends, profiler=profiler, must_use_result=lambda value, *_: value, tessera=tessera, **names)
    modules = {module.__name__: module for module in (
        top, runtime, driver, errors, jit_module, autotuner, compiler, compiler_errors, compiler.compiler, tools, descriptor,
        knobs_module, profiler, backends, backends_compiler, backends_driver)}
    modules["triton.testing"] = testing
    for name, module in list(sys.modules.items()):
        if name == language.__name__ or name.startswith(language.__name__ + "."):
            modules[language.language_name(name)] = module
    return modules


_installed: dict[str, ModuleType] = {}
_torch_found: list[Any] = []  # torch's own answer to whether there is a Triton


class _WithoutTriton:
    """Lets `import triton` fail in the module where torch.compile imports Triton's compiler, at that module's first import."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
        if name != "torch._inductor.runtime.triton_compat":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec and spec.loader:
            spec.loader.exec_module = functools.partial(_WithoutTriton.run, spec.loader.exec_module)  # type: ignore[method-assign]
        return spec

    @staticmethod
    def run(execute: Callable[[ModuleType], None], module: ModuleType) -> None:
        before = sys.modules.get("triton")
        sys.modules["triton"] = None  # type: ignore[assignment] # importlib: the import fails
        try:
            execute(module)
        finally:
            del sys.modules["triton"]
            if before:
                sys.modules["triton"] = before


def _hide_from_torch() -> None:
    """torch.compile looks for Triton's compiler where `import triton` works. It finds none here, and compiles for CPUs as without."""
    known = importlib.import_module("torch.utils._triton")
    _torch_found.append(known.has_triton_package)
    known.has_triton_package = lambda: False
    sys.meta_path.insert(0, _WithoutTriton)


def _set_stream(stream: Any) -> None:
    """torch.cuda.set_stream() for a CPU, which has one stream."""


def _show_to_torch() -> None:
    if _torch_found:
        sys.meta_path.remove(_WithoutTriton)
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
    if not hasattr(torch.cpu, "set_stream"):  # programs for any device call it
        torch.cpu.set_stream = _set_stream
    _installed.update(_modules())
    sys.modules.update(_installed)


def uninstall() -> None:
    """`import triton` gives what is installed under that name. Modules that
    were imported meanwhile keep tessera."""
    for name, module in _installed.items():
        if sys.modules.get(name) is module:
            del sys.modules[name]
    _installed.clear()
    if getattr(torch.cpu, "set_stream", None) is _set_stream:
        del torch.cpu.set_stream
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
