"""tessera.autotune, with Triton's meaning.

Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import functools
import os
import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import tessera.testing
from tessera import _timings
from tessera._config import Config
from tessera._descriptor import TensorDescriptor, tensor_of
from tessera._heuristics import Wrapper
from tessera._jit import Grid
from tessera.testing import do_bench, do_bench_cudagraph


class Autotuner(Wrapper):
    """Chooses, for each value of the key arguments and each set of types, the
    fastest of the configurations: they are run and timed at the first launch."""

    def __init__(self, fn: Any, arg_names: list[str], configs: list[Config], key: Iterable[str],
                 reset_to_zero: Iterable[str] | None, restore_value: Iterable[str] | None,
                 pre_hook: Callable[..., Any] | None = None, post_hook: Callable[..., Any] | None = None,
                 prune_configs_by: dict[str, Any] | None = None, warmup: int | None = None, rep: int | None = None,
                 use_cuda_graph: bool = False, do_bench: Callable[..., Any] | None = None,
                 cache_results: bool = False) -> None:
        """The parameters are those of Triton's class: packages derive classes from it. `arg_names` are those of fn."""
        super().__init__(fn, "autotune")
        self.configs = list(configs) or [Config({})]
        self.keys = list(key)
        self.reset_to_zero = list(reset_to_zero or ())
        self.restore_value = list(restore_value or ())
        self.check_names([*self.keys, *self.reset_to_zero, *self.restore_value], "autotune")
        self.user_defined_pre_hook, self.user_defined_post_hook = bool(pre_hook), bool(post_hook)
        if self.restore_value and pre_hook and not post_hook:
            raise ValueError(f"tessera.autotune: kernel `{self.__name__}` has restore_value and a pre_hook, which "
                             "replaces the copies that restore_value needs\nHINT: add a post_hook that restores")
        self.pre_hook = pre_hook or self._save
        self.post_hook = post_hook or self._restore
        self.restore_copies: dict[str, Any] = {}
        self.prune = prune_configs_by or {}
        self.early_config_prune = self.prune.get("early_config_prune")
        self.bench = _bench(warmup, rep, use_cuda_graph, do_bench)
        self.cache_results = cache_results
        self.cache: dict[tuple[Any, ...], Config] = {}
        self.configs_timings: dict[Config, Any] = {}
        self.best_config: Config | None = None
        self.bench_time = 0.0

    def _save(self, named: dict[str, Any], reset_only: bool = False) -> None:
        for name in self.reset_to_zero:
            if named[name] is not None:
                tensor_of(named[name]).zero_()
        if not reset_only:
            self.restore_copies = {name: tensor_of(named[name]).clone() for name in self.restore_value
                                   if named[name] is not None}

    def _restore(self, named: dict[str, Any], exception: Exception | None = None) -> None:
        for name, copy in self.restore_copies.items():
            tensor_of(named[name]).copy_(copy)
        self.restore_copies = {}

    def run(self, /, *args: Any, grid: Grid, warmup: bool = False, **kwargs: Any) -> Any:
        if warmup:
            return self.warmup(*args, grid=grid, **kwargs)
        if len(self.configs) == 1:
            config = self.configs[0]
        else:
            key = self._key({**dict(zip(self.arg_names, args)), **kwargs})
            if key not in self.cache:
                self._tune(key, args, grid, kwargs)
            config = self.cache[key]
        self.best_config = config
        self._clash(kwargs, config)
        if config.pre_hook:
            config.pre_hook(_named(dict(zip(self.arg_names, args)), kwargs, grid) | config.all_kwargs())
        return self.fn.run(*args, grid=grid, **kwargs, **config.all_kwargs())

    def warmup(self, /, *args: Any, grid: Grid, **kwargs: Any) -> list[Any]:
        """Compiles every configuration that would be timed."""
        return [self.fn.warmup(*args, grid=grid, **kwargs, **config.all_kwargs())
                for config in self.prune_configs(dict(zip(self.arg_names, args)), _named({}, kwargs, grid))]

    def _key(self, named: dict[str, Any]) -> tuple[Any, ...]:
        values = tuple(value.tuning_key() if isinstance(value, TensorDescriptor) else value
                       for value in (named[name] for name in self.keys if name in named))
        passed = (tensor_of(named[name]) for name in self.arg_names if name in named)
        return values + tuple(str(value.dtype) for value in passed if hasattr(value, "dtype"))

    def _clash(self, kwargs: dict[str, Any], config: Config) -> None:
        both = sorted(set(kwargs) & set(config.all_kwargs()))
        if both:
            raise ValueError(f"kernel `{self.__name__}`: {', '.join(both)} is passed, and its configurations set it\n"
                             "HINT: leave it out of the launch, or out of tessera.Config")

    def prune_configs(self, positional: dict[str, Any], kwargs: dict[str, Any]) -> list[Config]:
        """The configurations to time, by the functions of prune_configs_by."""
        configs = self.configs
        if self.early_config_prune:
            configs = list(self.early_config_prune(configs, positional, **kwargs))
            if not configs:
                raise ValueError(f"kernel `{self.__name__}`: early_config_prune left no configuration\n"
                                 "HINT: it must return at least one of those that it is given")
        if not (model := self.prune.get("perf_model")):
            return configs
        top = self.prune.get("top_k", 1.0)
        if isinstance(top, float) and 0 <= top <= 1:
            top = int(len(configs) * top)  # of those that early_config_prune left, as since Triton 3.9
        elif isinstance(top, bool) or not isinstance(top, int) or top < 1:
            raise TypeError(f"kernel `{self.__name__}`: top_k of prune_configs_by is {top!r}\n"
                            "HINT: pass a number of configurations, or a float from 0 to 1, their fraction")
        if len(configs) <= top:
            return configs
        times = {config: model(**positional, **kwargs, **config.all_kwargs()) for config in configs}
        return sorted(times, key=lambda config: times[config])[:max(1, top)]

    def _tune(self, key: tuple[Any, ...], args: tuple[Any, ...], grid: Grid, kwargs: dict[str, Any]) -> None:
        positional = dict(zip(self.arg_names, args))
        configs = self.prune_configs(positional, _named({}, kwargs, grid))
        if len(configs) == 1:  # nothing to choose: no runs for the clock
            self.cache[key] = configs[0]
            return
        path = _timings.path_of(self.jit_function, key, configs) if self.cache_results else None
        if path and (known := _timings.read(path, configs)):
            self.configs_timings = known
        else:
            start = time.perf_counter()
            self.configs_timings = self._time_all(configs, positional, args, grid, kwargs)
            self.bench_time = time.perf_counter() - start
            if path:
                _timings.write(path, configs, self.configs_timings)
        self.cache[key] = min(self.configs_timings, key=self.configs_timings.__getitem__)
        if os.environ.get("TRITON_PRINT_AUTOTUNING") == "1":
            print(f"autotuning of {self.__name__} with key {key}: {self.bench_time:.2f} s, best: {self.cache[key]}")

    def _time_all(self, configs: list[Config], positional: dict[str, Any], args: tuple[Any, ...], grid: Grid,
                  kwargs: dict[str, Any]) -> dict[Config, Any]:
        times: dict[Config, Any] = {}
        failed: list[tuple[Config, BaseException]] = []
        for config in configs:
            self._clash(kwargs, config)
            try:
                times[config] = self._time(config, positional, args, grid, kwargs)
            except CannotRun as error:
                failed.append((config, error.__cause__ or error))
        if not times:
            raise RuntimeError(f"kernel `{self.__name__}`: none of its configurations runs; the first one:\n"
                               f"{failed[0][1]}") from failed[0][1]
        if failed:
            warnings.warn(f"kernel `{self.__name__}`: autotune leaves out {len(failed)} of {len(configs)} configurations "
                          f"that do not run; the first one, {failed[0][0]}:\n{failed[0][1]}", RuntimeWarning, stacklevel=4)
        best = min(times, key=times.__getitem__)
        # The launches were for the clock: outputs are as before.
        self.pre_hook(_named(positional, kwargs, grid) | best.all_kwargs(), reset_only=True)
        return times

    def _time(self, config: Config, positional: dict[str, Any], args: tuple[Any, ...], grid: Grid,
              kwargs: dict[str, Any]) -> Any:
        full = _named(positional, kwargs, grid) | config.all_kwargs()

        def once() -> None:
            if config.pre_hook:
                config.pre_hook(full)
            self.pre_hook(full)
            try:
                self.fn.run(*args, grid=grid, **kwargs, **config.all_kwargs())
            except Exception as error:
                self.post_hook(full, exception=error)
                if isinstance(error, RuntimeError):  # it does not compile, or does not fit
                    raise CannotRun from error
                raise
            self.post_hook(full, exception=None)

        bench = self.bench or tessera.testing.do_bench
        return bench(once, quantiles=(0.5, 0.2, 0.8))


def _bench(warmup: int | None, rep: int | None, use_cuda_graph: bool,
           bench: Callable[..., Any] | None) -> Callable[..., Any] | None:
    """What times a configuration; None for the default."""
    if use_cuda_graph:
        return functools.partial(do_bench_cudagraph, rep=100 if rep is None else rep)
    if warmup is None and rep is None:
        return bench
    return functools.partial(do_bench, warmup=25 if warmup is None else warmup, rep=100 if rep is None else rep)


def _named(positional: dict[str, Any], kwargs: dict[str, Any], grid: Grid) -> dict[str, Any]:
    """What hooks see: the arguments by name, and the grid."""
    return {**positional, **kwargs, "grid": grid, "warmup": False}


class CannotRun(RuntimeError):
    """A configuration that the compiler or the device refuses; the cause says why."""


def autotune(configs: list[Config], key: Iterable[str], prune_configs_by: dict[str, Any] | None = None,
             reset_to_zero: Iterable[str] | None = None, restore_value: Iterable[str] | None = None,
             pre_hook: Callable[..., Any] | None = None, post_hook: Callable[..., Any] | None = None,
             warmup: int | None = None, rep: int | None = None, use_cuda_graph: bool = False,
             do_bench: Callable[..., Any] | None = None, cache_results: bool = False) -> Callable[[Any], Autotuner]:
    """Runs every configuration when a value of `key` is new, and takes the
    fastest from then on. Kernels that add to memory name it in `reset_to_zero`
    or `restore_value`. pre_hook(arguments, reset_only=False) replaces what is
    done for these two before each timed run, and is called with reset_only=True
    before the launch that follows; post_hook(arguments, exception) replaces
    what restores. cache_results keeps the times on disk."""

    def decorate(fn: Any) -> Autotuner:
        return Autotuner(fn, getattr(fn, "arg_names", []), configs, key, reset_to_zero, restore_value, pre_hook, post_hook,
                         prune_configs_by, warmup, rep, use_cuda_graph, do_bench, cache_results)

    return decorate
