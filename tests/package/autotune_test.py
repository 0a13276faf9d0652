# tests/package/autotune_test.py - autotune, heuristics and testing: what they choose, restore and remember.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import tempfile
from unittest import mock

import pytest
import torch

import tessera
import tessera.language as tl


class Clock:
    """Replaces do_bench: returns these times, one for each configuration, and counts the calls."""

    def __init__(self, *times, after=lambda: None):
        self.times = times
        self.calls = 0
        self.after = after  # called after each run

    def __call__(self, fn, quantiles):
        for _ in range(2):
            fn()
            self.after()
        self.calls += 1
        return [self.times[(self.calls - 1) % len(self.times)]] * len(quantiles)


def accumulate_kernel(clock, decorate=None, **more):
    @tessera.autotune([tessera.Config({"BLOCK": 16}), tessera.Config({"BLOCK": 64}, num_warps=2),
                       tessera.Config({"BLOCK": 32})], key=["n"], do_bench=clock, **more)
    @tessera.jit
    def accumulate(X, OUT, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(OUT + at, tl.load(OUT + at, mask=at < n) + tl.load(X + at, mask=at < n), mask=at < n)
    return accumulate


def blocks(meta):
    return (tessera.cdiv(meta["n"], meta["BLOCK"]),)


class TestAutotune:
    def test_fastest_and_remembered(self):
        clock = Clock(3.0, 1.0, 2.0)
        kernel = accumulate_kernel(clock, restore_value=["OUT"])
        x, out = torch.randn(100), torch.ones(100)
        kernel[blocks](x, out, 100)
        torch.testing.assert_close(out, 1 + x)  # timed six times, added once
        assert clock.calls == 3
        assert kernel.best_config.all_kwargs() == {"BLOCK": 64, "num_warps": 2, "num_ctas": 1, "num_stages": 3}
        assert sorted(kernel.configs_timings.values()) == [[1.0] * 3, [2.0] * 3, [3.0] * 3]
        kernel[blocks](x, out, 100)
        torch.testing.assert_close(out, 1 + 2 * x)
        assert clock.calls == 3
        kernel[blocks](x, out, 50)  # another value of the key
        assert clock.calls == 6
        kernel[blocks](x.double(), out.double(), 100)  # other types
        assert clock.calls == 9
        kernel[blocks](x, out, n=100)
        assert clock.calls == 9

    def test_arguments_to_restore_and_to_reset_may_be_none(self):
        @tessera.autotune([tessera.Config({"BLOCK": 16}), tessera.Config({"BLOCK": 32})], key=["n"], do_bench=Clock(2.0, 1.0),
                          restore_value=["BIAS"], reset_to_zero=["SUM"])
        @tessera.jit
        def double(OUT, BIAS, SUM, n, BLOCK: tl.constexpr):
            at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(OUT + at, tl.load(OUT + at, mask=at < n) * 0 + 2, mask=at < n)
            if SUM is not None:
                tl.atomic_add(SUM, 1.0)
            if BIAS is not None:
                tl.store(BIAS + at, 5.0, mask=at < n)

        out = torch.zeros(40)
        double[blocks](out, None, None, 40)
        assert out.tolist() == [2.0] * 40

    def test_hooks_in_order(self):
        seen = []

        def pre_hook(named, reset_only=False):
            seen.append(("reset" if reset_only else "before", named["BLOCK"], named["OUT"].sum().item()))

        def post_hook(named, exception):
            seen.append(("after", named["BLOCK"], named["OUT"].sum().item()))
            named["OUT"].zero_()

        def config(size):
            return tessera.Config({"BLOCK": size}, pre_hook=lambda named: seen.append(("config", named["BLOCK"], named["grid"])))

        def once(fn, quantiles):
            fn()
            return [1.0] * len(quantiles)

        @tessera.autotune([config(16), config(32)], key=["n"], pre_hook=pre_hook, post_hook=post_hook, do_bench=once)
        @tessera.jit
        def ones(OUT, n, BLOCK: tl.constexpr):
            at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(OUT + at, 1.0, mask=at < n)

        ones[blocks](torch.zeros(40), n=40)
        assert seen == [("config", 16, blocks), ("before", 16, 0.0), ("after", 16, 40.0),
                        ("config", 32, blocks), ("before", 32, 0.0), ("after", 32, 40.0),
                        ("reset", 16, 0.0), ("config", 16, blocks)]

    def test_reset_to_zero(self):
        x, out = torch.randn(100), torch.ones(100)
        seen = []
        clock = Clock(3.0, 2.0, 1.0, after=lambda: seen.append(torch.equal(out, x)))
        accumulate_kernel(clock, reset_to_zero=["OUT"])[blocks](x, out, 100)
        torch.testing.assert_close(out, x)
        assert seen == [True] * 6  # each run began anew

    def test_the_real_clock(self):
        x, out = torch.randn(100), torch.ones(100)
        kernel = accumulate_kernel(None, restore_value=["OUT"], warmup=1, rep=2)
        kernel[blocks](x, out, 100)
        torch.testing.assert_close(out, 1 + x)
        assert len(kernel.configs_timings) == 3

    def test_pruned(self):
        clock = Clock(1.0)
        seen = {}

        def early(configs, named, **kwargs):
            seen.update(named)
            return configs[1:]

        kernel = accumulate_kernel(clock, restore_value=["OUT"], prune_configs_by={
            "early_config_prune": early, "perf_model": lambda BLOCK, **rest: BLOCK, "top_k": 1})
        kernel[blocks](torch.randn(100), torch.ones(100), 100)
        assert clock.calls == 0  # one is left
        assert kernel.best_config.kwargs == {"BLOCK": 32}
        assert seen["n"] == 100

    def test_derived_classes(self):
        """flash-linear-attention derives a class from Triton's Autotuner and gives its constructor all arguments by position."""
        ran = []

        class Recorded(tessera.Autotuner):
            def __init__(self, fn, arg_names, configs, key, reset_to_zero, restore_value, **kwargs):
                super().__init__(fn, arg_names, configs, key, reset_to_zero, restore_value, **kwargs)

            def run(self, *args, **kwargs):
                ran.append((self.arg_names, self.keys))
                return super().run(*args, **kwargs)

        clock = Clock(3.0, 1.0)
        base = accumulate_kernel(None).fn
        configs = [tessera.Config({"BLOCK": size}) for size in (16, 64, 32)]
        kernel = Recorded(base, base.arg_names, configs, ["n"], None, ["OUT"], do_bench=clock, cache_results=False,
                          prune_configs_by={"early_config_prune": lambda every, named, **kwargs: every[:2]})
        assert kernel.early_config_prune(configs, {}) == configs[:2]
        x, out = torch.randn(100), torch.ones(100)
        kernel[lambda meta: (tessera.cdiv(100, meta["BLOCK"]),)](x, out, 100)
        assert torch.equal(out, 1 + x) and clock.calls == 2
        assert kernel.best_config is configs[1] and ran == [(["X", "OUT", "n", "BLOCK"], ["n"])]

        double = tessera.Heuristics(base, base.arg_names, {"BLOCK": lambda args: 2 * args["n"]})
        out.zero_()
        double[(2,)](x, out, 64)
        assert torch.equal(out[:64], x[:64]) and out[64:].count_nonzero() == 0

    @pytest.mark.parametrize("given, timer, times", [
        ({"warmup": 3, "rep": 7}, "do_bench", {"warmup": 3, "rep": 7}), ({"warmup": 3}, "do_bench", {"warmup": 3, "rep": 100}),
        ({"rep": 7}, "do_bench", {"warmup": 25, "rep": 7}), ({"use_cuda_graph": True, "rep": 7}, "do_bench_cudagraph", {"rep": 7})])
    def test_how_long_a_configuration_is_timed(self, given, timer, times):
        with mock.patch(f"tessera._autotune.{timer}", side_effect=[(2.0,) * 3, (1.0,) * 3]) as bench:
            configs = [tessera.Config({"BLOCK": size}) for size in (16, 32)]

            @tessera.autotune(configs, key=[], **given)
            @tessera.jit
            def fill(OUT, BLOCK: tl.constexpr):
                tl.store(OUT + tl.arange(0, BLOCK), 1.0)

            fill[(1,)](torch.zeros(32))
        assert fill.best_config is configs[1]
        assert [{name: call.kwargs[name] for name in times} for call in bench.call_args_list] == [times] * 2

    def test_hooks(self):
        calls = []

        @tessera.autotune([tessera.Config({"BLOCK": 16}, pre_hook=lambda args: calls.append(args["BLOCK"]))], key=[])
        @tessera.jit
        def fill(OUT, BLOCK: tl.constexpr):
            tl.store(OUT + tl.arange(0, BLOCK), 1.0)

        out = torch.zeros(16)
        fill[(1,)](out)
        assert (calls, out.sum().item()) == ([16], 16)

    def test_an_error_of_a_hook_is_not_one_of_a_configuration(self):
        def broken(named):
            raise RuntimeError("of the hook")

        for hooks in ({"pre_hook": broken}, {"post_hook": lambda named, exception: broken(named)}):
            with pytest.raises(RuntimeError, match="^of the hook$"):
                accumulate_kernel(Clock(1.0), **hooks)[blocks](torch.ones(4), torch.ones(4), 4)

    def test_post_hook_sees_the_error_of_a_launch(self):
        seen = []

        @tessera.autotune([tessera.Config({"BLOCK": size}) for size in (32, 64)], key=[], do_bench=Clock(1.0),
                          post_hook=lambda named, exception: seen.append((named["BLOCK"], type(exception))))
        @tessera.jit
        def fill(OUT, BLOCK: tl.constexpr):
            tl.static_assert(BLOCK != 32, "not 32")
            tl.store(OUT + tl.arange(0, BLOCK), 1.0)

        fill[(1,)](torch.zeros(64))
        assert seen == [(32, RuntimeError)] + 2 * [(64, type(None))]

    def test_results_on_disk(self):
        x, out = torch.randn(100), torch.ones(100)
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, {"TESSERA_CACHE_DIR": folder}):
            def best(times, n=100, decorate=accumulate_kernel):
                clock = Clock(*times)
                kernel = decorate(clock, restore_value=["OUT"], cache_results=True)
                kernel[blocks](x, out, n)
                return kernel.best_config.kwargs["BLOCK"], clock.calls

            assert best((3.0, 1.0, 2.0)) == (64, 3)
            assert best((1.0, 2.0, 3.0)) == (64, 0)  # as measured before
            assert best((1.0, 2.0, 3.0), n=50) == (16, 3)  # another key
            files = sorted(pathlib.Path(folder, "autotune").iterdir())
            assert len(files) == 2
            for damage in ("", "{", "[]", "{\"0\": \"fast\"}", "{\"9\": 1.0}", "{}"):
                for file in files:
                    file.write_text(damage)
                assert best((2.0, 2.0, 1.0)) == (32, 3), damage
            for file in files:
                file.chmod(0o666)
            assert best((1.0, 2.0, 3.0)) == (16, 3)  # another user may have written it
            assert best((3.0, 2.0, 3.0)) == (16, 0)

    def test_configurations_that_fail(self):
        def kernel(*sizes):
            @tessera.autotune([tessera.Config({"BLOCK": size}) for size in sizes], key=[], do_bench=Clock(1.0))
            @tessera.jit
            def fill(OUT, BLOCK: tl.constexpr):
                tl.static_assert(BLOCK != 32, "not 32")
                tl.store(OUT + tl.arange(0, BLOCK), 1.0)
            return fill

        out = torch.zeros(64)
        fill = kernel(32, 64)
        with pytest.warns(RuntimeWarning, match="(?s)kernel `fill`: autotune leaves out 1 of 2 configurations.*BLOCK: 32.*not 32"):
            fill[(1,)](out)
        assert (fill.best_config.kwargs, out.sum().item()) == ({"BLOCK": 64}, 64)
        with pytest.raises(RuntimeError, match="(?s)none of its configurations runs.*not 32"):
            kernel(32, 32)[(1,)](out)

    def test_messages(self):
        x = torch.ones(4)
        with pytest.raises(ValueError, match="BLOCK is passed, and its configurations set it\nHINT"):
            accumulate_kernel(Clock(1.0))[(1,)](x, x, 4, BLOCK=16)
        with pytest.raises(ValueError, match="kernel `accumulate` has no parameter `OUTPUT`\nHINT: it has X, OUT"):
            accumulate_kernel(Clock(1.0), reset_to_zero=["OUTPUT"])
        with pytest.raises(ValueError, match="restore_value and a pre_hook.*\nHINT: add a post_hook"):
            accumulate_kernel(Clock(1.0), restore_value=["OUT"], pre_hook=lambda named, reset_only=False: None)
        for top in (1.5, -1, -0.5, "all", True):
            with pytest.raises(TypeError, match="top_k of prune_configs_by is .*\nHINT: pass a number of configurations"):
                accumulate_kernel(Clock(1.0), prune_configs_by={"perf_model": lambda **named: 1, "top_k": top})[blocks](
                    x, x, 4)
        with pytest.raises(TypeError, match="put @tessera.autotune above @tessera.jit"):
            tessera.autotune([], key=[])(len)


class TestHeuristics:
    def test_values(self):
        @tessera.heuristics({"BLOCK": lambda args: tessera.next_power_of_2(args["n"]),
                             "EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
        @tessera.jit
        def fill(OUT, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
            at = tl.arange(0, BLOCK)
            tl.store(OUT + at, BLOCK + (0.5 if EVEN else 0.25), mask=at < n)

        for n, want in ((64, 64.5), (65, 128.25)):
            out = torch.zeros(100)
            fill[(1,)](out, n)
            assert out.tolist() == [want] * n + [0] * (100 - n)

    def test_chooses_an_option_of_the_launch(self):
        @tessera.heuristics({"num_warps": lambda args: args["n"] // 32})
        @tessera.jit
        def fill(OUT, n, BLOCK: tl.constexpr):
            tl.store(OUT + tl.arange(0, BLOCK), 1.0)

        out, seen = torch.zeros(64), []
        run = fill.fn.run
        fill.fn.run = lambda *args, **kwargs: (seen.append(kwargs["num_warps"]), run(*args, **kwargs))
        fill[(1,)](out, 64, BLOCK=64)
        assert seen == [2] and out.tolist() == [1] * 64

    def test_under_autotune(self):
        @tessera.autotune([tessera.Config({"BLOCK": 16}), tessera.Config({"BLOCK": 32})], key=["n"],
                          do_bench=Clock(2.0, 1.0))
        @tessera.heuristics({"TWICE": lambda args: 2 * args["BLOCK"]})
        @tessera.jit
        def fill(OUT, n, BLOCK: tl.constexpr, TWICE: tl.constexpr):
            tl.store(OUT + tl.arange(0, BLOCK), TWICE)

        out = torch.zeros(32)
        fill[lambda meta: (meta["BLOCK"] // 32,)](out, 1)
        assert out.tolist() == [64] * 32

    def test_messages(self):
        with pytest.raises(ValueError, match="kernel `k` has no parameter `B`\nHINT: it has A"):
            @tessera.heuristics({"B": len})
            @tessera.jit
            def k(A):
                pass


class TestTesting:
    def test_do_bench(self):
        calls = []
        mean = tessera.testing.do_bench(lambda: calls.append(1), warmup=1, rep=1)
        assert mean > 0
        assert len(calls) > 5
        low, high = tessera.testing.do_bench(lambda: None, warmup=1, rep=1, quantiles=(0.2, 0.8))
        assert low <= high
        times = tessera.testing.do_bench(lambda: None, warmup=1, rep=1, return_mode="all")
        assert len(times) > 1
        with pytest.raises(ValueError, match="return_mode is 'first'\nHINT"):
            tessera.testing.do_bench(lambda: None, return_mode="first")

    def test_do_bench_measures_runs(self):
        now = [0.0]

        def run():
            now[0] += 1 / 256 if len(calls) % 2 else 1 / 128
            calls.append(now[0])

        for mode, want in (("mean", 1500 / 256), ("min", 1000 / 256), ("max", 2000 / 256)):
            calls = []
            with mock.patch("tessera.testing.time.perf_counter", lambda: now[0]):
                assert tessera.testing.do_bench(run, warmup=2000 / 256, rep=10000 / 256,
                                                                return_mode=mode) == pytest.approx(want, rel=0, abs=5e-08)
            assert len(calls) == 1 + 3 + 2 + 10

    def test_without_graphs_a_run_is_measured(self):
        calls = []
        tessera.testing.do_bench_cudagraph(lambda: calls.append(1), rep=1)
        assert len(calls) > 5

        @tessera.autotune([tessera.Config({"B": 1}), tessera.Config({"B": 2})], key=[], use_cuda_graph=True, rep=1)
        @tessera.jit
        def fill(OUT, B: tl.constexpr):
            tl.store(OUT, B)

        fill[(1,)](torch.zeros(1))
        assert len(fill.configs_timings) == 2

    def test_grad_to_none(self):
        x = torch.ones(2, requires_grad=True)
        tessera.testing.do_bench(lambda: x.sum().backward(), warmup=0, rep=1, grad_to_none=[x])
        assert x.grad.tolist() == [1, 1]

    def test_assert_close(self):
        close = tessera.testing.assert_close
        close(torch.ones(2), torch.ones(2) + 0.005)
        close(torch.tensor([float("nan"), 1]), torch.tensor([float("nan"), 1]))
        close(torch.ones(2, dtype=torch.half), torch.ones(2))
        close(1.0, 1.001)
        for x, y, more in ((torch.ones(2), torch.ones(2) + 0.02, {}), (1.0, 1.02, {}),
                           (torch.ones(2), torch.ones(2) + 0.005, {"atol": 1e-3}),
                           (torch.ones(2), torch.ones(3), {}), (torch.ones(2), torch.tensor([1, float("nan")]), {})):
            with pytest.raises(AssertionError):
                close(x, y, **more)
        close(100 * torch.ones(2), 101 * torch.ones(2), rtol=0.02)

    def test_perf_report(self):
        @tessera.testing.perf_report(tessera.testing.Benchmark(
            x_names=["n"], x_vals=[1, 2], line_arg="how", line_vals=["a", "b"], line_names=["A", "B"],
            plot_name="plot", args={"extra": 10}))
        def measure(n, how, extra):
            return f"{n}{how}{extra}"

        assert measure.run(print_data=False) == [[[1, "1a10", "1b10"], [2, "2a10", "2b10"]]]
