# tests/package/front_end/cases.py - kernels and launches whose results the front end decides, for Triton's interpreter
# and for tessera alike. Run as a program, it prints the results as JSON; with the argument `tessera`, those of tessera.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import json
import sys
import types

if __name__ == "__main__" and "tessera" in sys.argv[1:]:
    import tessera.triton

    tessera.triton.install()

import numpy as np
import torch
import triton
import triton.language as tl

SCALE = tl.constexpr(1.5)
HALF = tl.constexpr(64) // 2
settings = types.SimpleNamespace(SIZE=4, inner=types.SimpleNamespace(FACTOR=2.5))


@triton.jit
def order(OUT, a, b, c=3.0, D: tl.constexpr = 4, E: tl.constexpr = 5):
    tl.store(OUT, a + 10 * b + 100 * c + 1000 * D + 10000 * E)


@triton.jit
def by_keyword(OUT, a, *, b, c=(3.0, 0.5), D: tl.constexpr = HALF, E: tl.constexpr):
    tl.store(OUT, a + 10 * b + 100 * c[0] + 1000 * c[1] + 10000 * D + 100000 * E)


@triton.jit
def attributes(OUT):
    at = tl.arange(0, settings.SIZE)
    tl.store(OUT + at, at * settings.inner.FACTOR + HALF * SCALE)


@triton.jit
def shape_of(OUT, SHAPE: tl.constexpr, NAMES: tl.constexpr):
    tl.store(OUT, SHAPE[0] * SHAPE[1] + len(SHAPE) * 1.0)
    if NAMES[0] == "b":
        tl.store(OUT + 1, NAMES[1][1])


@triton.jit
def kind(OUT, VALUE: tl.constexpr):
    if VALUE is None:
        tl.store(OUT, 1.0)
    elif VALUE == "text":
        tl.store(OUT, 2.0)
    else:
        tl.store(OUT, VALUE * 4.0)


@triton.jit
def typed(OUT, TYPE: tl.constexpr):
    if TYPE == torch.float16:
        tl.store(OUT, 16.0)
    else:
        tl.store(OUT, 32.0)


@triton.jit
def optional(X, OUT, n, BIAS):
    value = tl.load(X) * n
    if BIAS is not None:
        value += tl.load(BIAS)
    tl.store(OUT, value)


@triton.jit
def number(OUT, s):
    tl.store(OUT, s)


def result(launch, count=1, dtype=torch.float64):
    out = torch.full((count,), -1, dtype=dtype)
    launch(out)
    return out.tolist()


def launches():
    x, bias = torch.tensor([3.0]), torch.tensor([0.25])
    yield "order", result(lambda o: order[(1,)](o, 1, 2))
    yield "order, names", result(lambda o: order[(1,)](E=6, b=2, a=1, OUT=o))
    yield "order, mixed", result(lambda o: order[(1,)](o, 1, 2, 7.0, E=9, D=8))
    yield "grid, function", result(lambda o: order[lambda meta: (meta["D"] // 4,)](o, 1, 2))
    yield "grid, defaults", result(lambda o: order[lambda meta: (meta["E"] - 4, 1)](o, 1, 2))
    yield "keywords", result(lambda o: by_keyword[(1,)](o, 1, E=5, b=2, D=4, c=(7.0, 0.25)))
    yield "keywords, defaults", result(lambda o: by_keyword[lambda meta: (meta["E"],)](o, E=2, b=1, a=3, c=(1, 2)))
    yield "attributes", result(attributes[(1,)], 4)
    yield "tuple", result(lambda o: shape_of[(1,)](o, SHAPE=(4, 8), NAMES=("b", (1, 2.5))), 2)
    for value in (None, "text", True, 3, 2.5, -0.5, np.float64(0.75)):
        yield f"constexpr {type(value).__name__}", result(lambda o, value=value: kind[(1,)](o, VALUE=value))
    for dtype in (torch.float16, torch.float32):
        yield f"constexpr {dtype}", result(lambda o, dtype=dtype: typed[(1,)](o, dtype))
    yield "no pointer", result(lambda o: optional[(1,)](x, o, 2, None))
    yield "a pointer", result(lambda o: optional[(1,)](x, o, 2, bias))
    for value in (7, -7, 2.5, 1 << 40, -(1 << 40)):
        yield f"argument {value!r}", result(lambda o, value=value: number[(1,)](o, value))
    yield "argument 2**63 + 1", result(lambda o: number[(1,)](o, 2**63 + 1), dtype=torch.uint64)


class Clock:
    """A do_bench that runs each configuration twice and gives it the next time."""

    def __init__(self, times):
        self.times, self.timed = list(times), 0

    def __call__(self, call, quantiles):
        call()
        call()
        self.timed += 1
        return [self.times[(self.timed - 1) % len(self.times)]] * len(quantiles)


def tuned(log, times=(3.0, 1.0, 2.0), hook=None, **more):
    configs = [triton.Config({"B": b}, num_warps=w, pre_hook=hook) for b, w in ((16, 1), (32, 2), (64, 4))]
    clock = Clock(times)

    @triton.autotune(configs, key=["n"], do_bench=clock, **more)
    @triton.jit
    def add_one(X, n, B: tl.constexpr):
        at = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(X + at, tl.load(X + at, mask=at < n) + 1, mask=at < n)

    x = torch.full((100,), 5.0)
    values = []
    for n in (100, 100, 50):
        add_one[lambda meta: (triton.cdiv(n, meta["B"]),)](x, n)
        values += [x[0].item(), x[99].item()]
    return {"values": values, "timed": clock.timed, "best": add_one.best_config.kwargs["B"],
            "config": str(add_one.best_config), "log": log, "keys": [list(map(str, key)) for key in add_one.cache]}


def tunings():
    def logged(log, what, change=None):
        def hook(named, **more):
            log.append([what, sorted(named), named.get("B"),
                        {name: repr(value) for name, value in more.items()}])
            if change is not None:
                change(named["X"])
        return hook

    yield "tuning", tuned([])
    log = []
    yield "pre_hook", tuned(log, pre_hook=logged(log, "pre", lambda x: x.zero_()))
    log = []
    yield "post_hook", tuned(log, post_hook=logged(log, "post", lambda x: x.sub_(1)))
    log = []
    yield "both hooks", tuned(log, pre_hook=logged(log, "pre"), post_hook=logged(log, "post"), restore_value=["X"])
    log = []
    yield "hook of a configuration", tuned(log, hook=logged(log, "own"))
    yield "reset_to_zero", tuned([], reset_to_zero=["X"])
    yield "restore_value", tuned([], restore_value=["X"])
    yield "reset and pre_hook", tuned([], reset_to_zero=["X"], pre_hook=logged([], "pre"))

    def early(configs, named, **more):
        log.append([len(configs), sorted(named), sorted(more)])
        return configs[1:]

    def cost(B, **more):
        log.append(sorted(more))
        return -B

    for top in (1, 2, 5, 0.34, 0.67, 1.0):
        for how in ({}, {"early_config_prune": early}):
            log = []
            name = f"top_k {top}{' of pruned' if how else ''}"
            yield name, tuned(log, prune_configs_by={"perf_model": cost, "top_k": top, **how})
    log = []
    yield "early_config_prune", tuned(log, prune_configs_by={"early_config_prune": early})


def configurations():
    one, same = triton.Config({"B": 1}), triton.Config({"B": 1})
    yield "equal configurations", [one == same, hash(one) == hash(same), one == triton.Config({"B": 2})]
    yield "options of a configuration", one.all_kwargs()
    yield "text of a configuration", str(triton.Config({"B": 1}, num_warps=8, num_stages=1, num_ctas=1, maxnreg=64))

    seen = []

    @triton.heuristics({"D": lambda args: args["b"] + 1, "E": lambda args: seen.append(sorted(args)) or args["D"] + 1})
    @triton.jit
    def decided(OUT, a, b, D: tl.constexpr, E: tl.constexpr):
        tl.store(OUT, a + 10 * b + 100 * D + 1000 * E)

    yield "heuristics", result(lambda o: decided[(1,)](o, 1, b=2))
    yield "arguments of heuristics", seen
    host = tl.constexpr(6)
    yield "arithmetic of constexprs", [(host + 1).value, (2 * host).value, (host // 4).value, bool(host > 5),
                                       list(range(host))]


if __name__ == "__main__":
    print(json.dumps({name: value for part in (launches, tunings, configurations) for name, value in part()}))
