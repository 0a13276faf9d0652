"""tessera.autotune and tessera.heuristics, with Triton's meanings.

Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

from tessera._jit import Grid, Launchable
from tessera.testing import do_bench


class Config:
    """Constexprs and options of one way to run a kernel. `pre_hook` is called
    with all arguments by name before each of its launches."""

    def __init__(self, kwargs: dict[str, Any], num_warps: int | None = None, num_stages: int | None = None,
                 num_ctas: int = 1, maxnreg: int | None = None, pre_hook: Callable[[dict[str, Any]], Any] | None = None,
                 ir_override: str | None = None) -> None:
        self.kwargs = kwargs
        self.num_warps = num_warps
        self.num_stages = num_stages
        self.num_ctas = num_ctas
        self.maxnreg = maxnreg
        self.pre_hook = pre_hook

    def all_kwargs(self) -> dict[str, Any]:
        options = {"num_warps": self.num_warps, "num_stages": self.num_stages}
        return {**self.kwargs, **{name: value for name, value in options.items() if value is not None}}

    def __repr__(self) -> str:
        return ", ".join(f"{name}: {value}" for name, value in self.all_kwargs().items())


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

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.fn(*args, **kwargs)


class Heuristics(Wrapper):
    """Constexprs that are computed from all arguments by name."""

    def __init__(self, fn: Any, values: dict[str, Callable[[dict[str, Any]], Any]]) -> None:
        super().__init__(fn, "heuristics")
        self.values = values
        for name in values:
            if name not in self.arg_names:
                raise ValueError(f"tessera.heuristics: kernel `{self.__name__}` has no parameter `{name}`\n"
                                 f"HINT: it has {', '.join(self.arg_names)}")

    def run(self, *args: Any, grid: Grid, warmup: bool = False, **kwargs: Any) -> None:
        for name, value in self.values.items():
            kwargs[name] = value({**dict(zip(self.arg_names, args)), **kwargs})
        self.fn.run(*args, grid=grid, **kwargs)


class Autotuner(Wrapper):
    """Chooses, for each value of the key arguments and each set of types, the
    fastest of the configurations: they are run and timed at the first launch."""

    def __init__(self, fn: Any, configs: list[Config], key: Iterable[str], prune_configs_by: dict[str, Any] | None,
                 reset_to_zero: Iterable[str] | None, restore_value: Iterable[str] | None,
                 pre_hook: Callable[..., Any] | None, post_hook: Callable[..., Any] | None,
                 bench: Callable[..., Any] | None) -> None:
        super().__init__(fn, "autotune")
        self.configs = list(configs) or [Config({})]
        self.keys = list(key)
        self.reset_to_zero = list(reset_to_zero or ())
        self.restore_value = list(restore_value or ())
        self.pre_hook, self.post_hook = pre_hook, post_hook
        self.prune = prune_configs_by or {}
        self.bench = bench or do_bench
        self.cache: dict[tuple[Any, ...], Config] = {}
        self.configs_timings: dict[Config, float] = {}
        self.best_config: Config | None = None
        for name in [*self.keys, *self.reset_to_zero, *self.restore_value]:
            if name not in self.arg_names:
                raise ValueError(f"tessera.autotune: kernel `{self.__name__}` has no parameter `{name}`\n"
                                 f"HINT: it has {', '.join(self.arg_names)}")

    def run(self, *args: Any, grid: Grid, warmup: bool = False, **kwargs: Any) -> None:
        named = {**dict(zip(self.arg_names, args)), **kwargs}
        if len(self.configs) == 1:
            config = self.configs[0]
        else:
            key = self._key(named)
            if key not in self.cache:
                self.cache[key] = self._choose(named, args, grid, kwargs)
            config = self.cache[key]
        self.best_config = config
        self._clash(kwargs, config)
        if config.pre_hook:
            config.pre_hook({**named, **config.all_kwargs()})
        self.fn.run(*args, grid=grid, **kwargs, **config.all_kwargs())

    def _key(self, named: dict[str, Any]) -> tuple[Any, ...]:
        values = tuple(named[name] for name in self.keys if name in named)
        return values + tuple(str(value.dtype) for value in named.values() if isinstance(value, torch.Tensor))

    def _clash(self, kwargs: dict[str, Any], config: Config) -> None:
        both = sorted(set(kwargs) & set(config.all_kwargs()))
        if both:
            raise ValueError(f"kernel `{self.__name__}`: {', '.join(both)} is passed, and its configurations set it\n"
                             "HINT: leave it out of the launch, or out of tessera.Config")

    def _pruned(self, named: dict[str, Any]) -> list[Config]:
        configs = self.configs
        if early := self.prune.get("early_config_prune"):
            configs = early(configs, named, **named)
            if not configs:
                raise ValueError(f"kernel `{self.__name__}`: early_config_prune left no configuration\n"
                                 "HINT: it must return at least one of those that it is given")
        if model := self.prune.get("perf_model"):
            count = self._top_k()
            if len(configs) > count:
                configs = sorted(configs, key=lambda c: model(**named, **c.all_kwargs()))[:count]
        return configs

    def _top_k(self) -> int:
        """How many configurations are timed: a number, or a share of all of them, those that are pruned early included."""
        top = self.prune.get("top_k", 1.0)
        if isinstance(top, float) and 0.0 <= top <= 1.0:
            return max(1, int(len(self.configs) * top))
        if isinstance(top, int) and not isinstance(top, bool) and top > 0:
            return top
        raise TypeError(f"kernel `{self.__name__}`: top_k of prune_configs_by is {top!r}\n"
                        "HINT: pass a whole number of configurations, 1 or more, or their share as a float from 0.0 to 1.0")

    def _choose(self, named: dict[str, Any], args: tuple[Any, ...], grid: Grid, kwargs: dict[str, Any]) -> Config:
        times: dict[Config, float] = {}
        failed: list[Exception] = []
        saved = {name: named[name].clone() for name in self.restore_value if isinstance(named.get(name), torch.Tensor)}
        for config in self._pruned(named):
            self._clash(kwargs, config)
            try:
                times[config] = self._time(config, named, args, grid, kwargs, saved)
            except RuntimeError as error:  # it does not compile, or does not fit
                failed.append(error)
        if not times:
            raise RuntimeError(f"kernel `{self.__name__}`: none of its configurations runs; the first one:\n"
                               f"{failed[0]}") from failed[0]
        # The launches above were for the clock: outputs are as before.
        self._reset(named, saved)
        self.configs_timings = times
        return min(times, key=lambda config: times[config])

    def _reset(self, named: dict[str, Any], saved: dict[str, torch.Tensor]) -> None:
        for name in self.reset_to_zero:
            if isinstance(named.get(name), torch.Tensor):
                named[name].zero_()
        for name, value in saved.items():
            named[name].copy_(value)

    def _time(self, config: Config, named: dict[str, Any], args: tuple[Any, ...], grid: Grid, kwargs: dict[str, Any],
              saved: dict[str, torch.Tensor]) -> float:
        full = {**named, **config.all_kwargs()}

        def once() -> None:
            self._reset(named, saved)
            if config.pre_hook:
                config.pre_hook(full)
            if self.pre_hook:
                self.pre_hook(full, reset_only=False)
            try:
                self.fn.run(*args, grid=grid, **kwargs, **config.all_kwargs())
            except Exception as error:
                if self.post_hook:
                    self.post_hook(full, exception=error)
                raise
            if self.post_hook:
                self.post_hook(full, exception=None)

        times = self.bench(once, quantiles=(0.5, 0.2, 0.8))
        return times if isinstance(times, float) else times[0]


def autotune(configs: list[Config], key: Iterable[str], prune_configs_by: dict[str, Any] | None = None,
             reset_to_zero: Iterable[str] | None = None, restore_value: Iterable[str] | None = None,
             pre_hook: Callable[..., Any] | None = None, post_hook: Callable[..., Any] | None = None,
             warmup: int | None = None, rep: int | None = None, use_cuda_graph: bool = False,
             do_bench: Callable[..., Any] | None = None, cache_results: bool = False) -> Callable[[Any], Autotuner]:
    """Runs every configuration when a value of `key` is new, and takes the
    fastest from then on. Kernels that add to memory name it in `reset_to_zero`
    or `restore_value`: it is reset before every run."""

    def decorate(fn: Any) -> Autotuner:
        bench = do_bench
        if bench is None and (warmup is not None or rep is not None):
            def bench(call: Callable[[], Any], quantiles: Any) -> Any:
                return _timed(call, warmup=25 if warmup is None else warmup, rep=100 if rep is None else rep,
                              quantiles=quantiles)
        return Autotuner(fn, configs, key, prune_configs_by, reset_to_zero, restore_value, pre_hook, post_hook, bench)

    return decorate


_timed = do_bench


def heuristics(values: dict[str, Callable[[dict[str, Any]], Any]]) -> Callable[[Any], Heuristics]:
    """Constexprs from functions of all arguments by name, at every launch."""
    return lambda fn: Heuristics(fn, values)
