"""Timing and comparison, with Triton's meanings.

Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import csv
import importlib
import os
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
    return _summary(times, quantiles, return_mode)


def _summary(times: list[float], quantiles: Sequence[float] | None, return_mode: str) -> Any:
    if quantiles is not None:
        found = torch.quantile(torch.tensor(times, dtype=torch.double),
                               torch.tensor(list(quantiles), dtype=torch.double)).tolist()
        return found[0] if len(found) == 1 else found
    if return_mode == "all":
        return times
    return {"min": min, "max": max, "mean": statistics.fmean, "median": statistics.median}[return_mode](times)


def do_bench_cudagraph(fn: Callable[[], Any], rep: float = 20, grad_to_none: Iterable[torch.Tensor] | None = None,
                       quantiles: Sequence[float] | None = None, return_mode: str = "mean") -> Any:
    """Milliseconds that fn() takes within a CUDA graph of several calls. Without
    a GPU there are no graphs: the same as do_bench()."""
    if not _cuda():
        return do_bench(fn, warmup=0, rep=rep, grad_to_none=grad_to_none, quantiles=quantiles, return_mode=return_mode)
    with torch.cuda.stream(torch.cuda.Stream()):
        fn()
        for tensor in grad_to_none or ():
            tensor.grad = None
        estimate = max(min(_milliseconds(fn, True) for _ in range(5)), 1e-6)
        calls = max(1, int(rep / estimate))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(calls):
                for tensor in grad_to_none or ():
                    tensor.grad = None
                fn()
        torch.cuda.synchronize()
        times = [_milliseconds(graph.replay, True) / calls for _ in range(10)]
    return _summary(times, quantiles, return_mode)


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
        self.xlabel, self.ylabel = xlabel, ylabel
        self.x_log, self.y_log, self.styles = x_log, y_log, styles


class Mark:
    """A function with its benchmarks; run() measures them all."""

    def __init__(self, fn: Callable[..., Any], benchmarks: Any) -> None:
        self.fn = fn
        self.single = isinstance(benchmarks, Benchmark)
        self.benchmarks = [benchmarks] if self.single else list(benchmarks)

    def run(self, show_plots: bool = False, print_data: bool = False, save_path: str = "", return_df: bool = False,
            **kwargs: Any) -> Any:
        """Rows of values for each benchmark: x, then one value a line, or what
        the function returns where that is (value, least, most). Prints them, and
        saves PLOT_NAME.csv in the folder save_path; nothing is drawn. With
        return_df, pandas' DataFrame of one benchmark, or their list."""
        tables = []
        for bench in self.benchmarks:
            rows = [self._row(bench, x, kwargs) for x in bench.x_vals]
            unit = f" ({bench.ylabel})" if bench.ylabel else ""
            head = [*bench.x_names, *(name + unit for name in bench.line_names)]
            table = [[*self._point(bench, x).values(), *map(_middle, row[1:])] for x, row in zip(bench.x_vals, rows)]
            if print_data:
                print(bench.plot_name + ":", " ".join(head))
                for line in table:
                    print(*line)
            if save_path:
                _save(save_path, bench.plot_name, [head, *table])
            tables.append((head, table, rows))
        if not return_df:
            return [rows for _, _, rows in tables]
        frames = [_frame(head, table) for head, table, _ in tables]
        return frames[0] if self.single else frames

    @staticmethod
    def _point(bench: Benchmark, x: Any) -> dict[str, Any]:
        values = list(x) if isinstance(x, (tuple, list)) else [x] * len(bench.x_names)
        if len(values) != len(bench.x_names):
            raise ValueError(f"benchmark `{bench.plot_name}`: {x} for {', '.join(bench.x_names)}\n"
                             "HINT: each entry of x_vals has one value for each of x_names")
        return dict(zip(bench.x_names, values))

    def _row(self, bench: Benchmark, x: Any, more: dict[str, Any]) -> list[Any]:
        point = self._point(bench, x)
        return [x] + [self.fn(**point, **{bench.line_arg: line}, **bench.args, **more) for line in bench.line_vals]


def _middle(value: Any) -> Any:
    return value[0] if isinstance(value, (tuple, list)) and len(value) == 3 else value


def _save(folder: str, name: str, table: list[list[Any]]) -> None:
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name + ".csv"), "w", newline="") as file:
        csv.writer(file).writerows(table)


def _frame(head: list[str], table: list[list[Any]]) -> Any:
    try:
        pandas = importlib.import_module("pandas")
    except ImportError as error:
        raise ImportError("return_df needs pandas, which this Python does not have\n"
                          "HINT: pip install pandas, or take the rows that run() returns without return_df") from error
    return pandas.DataFrame(table, columns=head)


def perf_report(benchmarks: Any) -> Callable[[Callable[..., Any]], Mark]:
    return lambda fn: Mark(fn, benchmarks)
