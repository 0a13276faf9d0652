"""Timing and comparison, with Triton's meanings.

Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch


def _cuda() -> bool:
    return torch.cuda.is_available() and torch.cuda.is_initialized()


def _milliseconds(fn: Callable[[], Any], cuda: bool) -> float:
    if not cuda:
        start = time.perf_counter()
        fn()
        return (time.perf_counter() - start) * 1e3
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    fn()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end)


def do_bench(fn: Callable[[], Any], warmup: float = 25, rep: float = 100,
             grad_to_none: Iterable[torch.Tensor] | None = None, quantiles: Sequence[float] | None = None,
             return_mode: str = "mean") -> Any:
    """Milliseconds that fn() takes, over about `rep` ms after `warmup` ms of
    runs: the mean ("min", "max", "median", "all" as return_mode says), or the
    list of these quantiles. The clock is the CPU's unless torch uses a GPU."""
    if return_mode not in ("min", "max", "mean", "median", "all"):
        raise ValueError(f"do_bench: return_mode is {return_mode!r}\nHINT: pass min, max, mean, median or all")
    cuda = _cuda()
    fn()
    estimate = max(min(_milliseconds(fn, cuda) for _ in range(3)), 1e-6)
    for _ in range(int(warmup / estimate)):
        fn()
    times = []
    for _ in range(max(1, int(rep / estimate))):
        for tensor in grad_to_none or ():
            tensor.grad = None
        times.append(_milliseconds(fn, cuda))
    if quantiles is not None:
        found = torch.quantile(torch.tensor(times, dtype=torch.double),
                               torch.tensor(list(quantiles), dtype=torch.double)).tolist()
        return found[0] if len(found) == 1 else found
    if return_mode == "all":
        return times
    return {"min": min, "max": max, "mean": statistics.fmean, "median": statistics.median}[return_mode](times)


def assert_close(x: Any, y: Any, atol: float | None = None, rtol: float | None = None, err_msg: str = "") -> None:
    """Raises AssertionError unless |x - y| <= atol + rtol * |y| everywhere
    (0.01 and 0 where not given); nan equals nan."""
    atol = 1e-2 if atol is None else atol
    rtol = 0.0 if rtol is None else rtol
    x, y = torch.as_tensor(x), torch.as_tensor(y)
    if x.numel() > 1 or y.numel() > 1:
        wide = torch.double if x.is_floating_point() or y.is_floating_point() else x.dtype
        torch.testing.assert_close(x.to(wide), y.to(wide), atol=atol, rtol=rtol, equal_nan=True,
                                   msg=lambda text: f"{err_msg}\n{text}" if err_msg else text)
    elif not torch.allclose(x.double(), y.double(), atol=atol, rtol=rtol, equal_nan=True):
        raise AssertionError(f"{err_msg} {x.item()} is not close to {y.item()} (atol={atol}, rtol={rtol})")


class Benchmark:
    """What a function under perf_report is called with: one argument varies,
    and one makes lines."""

    def __init__(self, x_names: list[str], x_vals: list[Any], line_arg: str, line_vals: list[Any],
                 line_names: list[str], plot_name: str, args: dict[str, Any], xlabel: str = "", ylabel: str = "",
                 x_log: bool = False, y_log: bool = False, styles: Any = None) -> None:
        self.x_names, self.x_vals = x_names, x_vals
        self.line_arg, self.line_vals, self.line_names = line_arg, line_vals, line_names
        self.plot_name, self.args = plot_name, args


class Mark:
    """A function with its benchmarks; run() prints a table of each."""

    def __init__(self, fn: Callable[..., Any], benchmarks: Any) -> None:
        self.fn = fn
        self.benchmarks = benchmarks if isinstance(benchmarks, list) else [benchmarks]

    def run(self, print_data: bool = True, show_plots: bool = False, save_path: str = "", **kwargs: Any) -> list[Any]:
        """Rows of values for each benchmark. Nothing is drawn or saved."""
        tables = []
        for bench in self.benchmarks:
            rows = []
            for x in bench.x_vals:
                point = dict(zip(bench.x_names, x if isinstance(x, (tuple, list)) else [x] * len(bench.x_names)))
                rows.append([x] + [self.fn(**point, **{bench.line_arg: line}, **bench.args, **kwargs)
                                   for line in bench.line_vals])
            if print_data:
                print(bench.plot_name + ":", " ".join([*bench.x_names, *bench.line_names]))
                for row in rows:
                    print(*row)
            tables.append(rows)
        return tables


def perf_report(benchmarks: Any) -> Callable[[Callable[..., Any]], Mark]:
    return lambda fn: Mark(fn, benchmarks)
