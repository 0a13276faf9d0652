# tests/package/front_end_test.py - what the front end decides is as under Triton: arguments, constants, tuning. The
# results of front_end/cases.py are compared with those of Triton's interpreter.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import types
from random import Random
from unittest import mock

import pytest
import numpy as np
import torch

import tessera
import tessera.language as tl

ops = torch.ops.tessera
FOLDER = pathlib.Path(__file__).parent / "front_end"
TRITON = pathlib.Path(sys.prefix).parent / "triton-3.9"  # scripts/setup; the venv has 3.6, which tunes otherwise


def results(*arguments, **environment):
    done = subprocess.run([sys.executable, str(FOLDER / "cases.py"), *arguments], check=False, text=True,
                          capture_output=True, stdin=subprocess.DEVNULL, env={**os.environ, **environment})
    if done.returncode:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def compilations():
    compiled, loaded, *_ = ops.kernel_stats()
    return compiled + loaded


class TestAsTriton:
    def test_results_are_those_of_the_interpreter(self, subtests):
        assert TRITON.is_dir(), f"{TRITON} is missing: run scripts/setup"
        want = results(TRITON_INTERPRET="1", PYTHONPATH=str(TRITON))
        got = results("tessera")
        assert list(got) == list(want)
        assert len(want) > 40
        for name, value in want.items():
            with subtests.test(name):
                assert got[name] == value


class TestParameterNames:
    NAMES = ["len", "type", "int", "tuple", "plain", "TypeError", "OverflowError", "print", "self", "kernel", "fn",
             "x", "y", "z", "op", "run", "plan", "names", "args", "kwargs", "options", "_grid", "_run", "_plan", "_op",
             "_x", "_size", "_options", "_plans", "__run", "__", "_", "a0", "a1", "torch", "match", "debug_", "default",
             "_default_n", "named", "wide"]

    def test_any_identifier_is_a_parameter(self, subtests):
        text = "import tessera\nimport tessera.language as tl\n"
        for at, name in enumerate(self.NAMES):
            text += (f"@tessera.jit\ndef k{at}(OUT, {name}, n=2, B: tl.constexpr = 3):\n"
                     f"    tl.store(OUT, {name} * 100 + n * 10 + B)\n")
            text += f"@tessera.jit\ndef c{at}(OUT, {name}: tl.constexpr = 5):\n    tl.store(OUT, {name} * 2)\n"
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "named_parameters.py"
            path.write_text(text)
            spec = importlib.util.spec_from_file_location("named_parameters", path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            for at, name in enumerate(self.NAMES):
                with subtests.test(name):
                    out = torch.zeros(1)
                    kernel, known = getattr(module, f"k{at}"), getattr(module, f"c{at}")
                    kernel[(1,)](out, 7)
                    assert out.item() == 723
                    kernel[lambda meta: (meta[name] - 7,)](OUT=out, **{name: 8})  # noqa: B023 (called at once)
                    assert out.item() == 823
                    kernel[(1,)](out, np.float32(0.5), n=np.int16(4))
                    assert out.item() == 93
                    known[(1,)](out)
                    assert out.item() == 10
                    known[(1,)](out, **{name: 6})
                    assert out.item() == 12

    def test_a_parameter_that_is_an_option(self):
        @tessera.jit
        def known(OUT, num_warps: tl.constexpr, num_stages: tl.constexpr):
            tl.store(OUT, num_warps * 10 + num_stages)

        @tessera.jit
        def runtime(OUT, num_warps, debug):
            tl.store(OUT, num_warps * 10 + tl.load(debug))

        out = torch.zeros(1)
        for warps, stages in ((4, 2), (2, 2), (2, 3)):
            assert known[(1,)](out, num_stages=stages, num_warps=warps).metadata.num_warps == warps
            assert out.item() == 10 * warps + stages
        runtime[(1,)](out, 100, torch.tensor([3.0, 4.0]))
        assert out.item() == 1003


class TestRandomSignatures:
    """Kernels with random parameters, launched by position, by name and by default, compared with Python."""

    KERNELS, LAUNCHES = 25, 6
    # How a kernel makes a number of a parameter of each kind, and values with that number.
    KINDS = {
        "number": ("{p} * 1.0", False, [(v, float(v)) for v in (
            0, 1, 7, 16, -5, 2**40, True, False, 0.5, -0.25, np.int8(-3), np.uint64(9), np.float32(0.5),
            np.float64(-2.0), np.bool_(True))]),
        "pointer": ("5.0 if {p} is None else tl.load({p})", False, [(None, 5.0), (torch.tensor(2.5), 2.5), (
            torch.tensor([7, 8]), 7.0), (torch.tensor([1.0, 3.0], dtype=torch.float16)[1:], 3.0)]),
        "value": ("{p} * 1.0", True, [(v, float(v)) for v in (
            0, 1, -7, 2**35, True, 0.5, -0.25, np.int16(4), np.float32(0.5), np.bool_(False), tl.constexpr(3))]),
        "text": ("len({p}) * 1.0", True, [("", 0.0), ("it's", 4.0), ("\\\"\n", 3.0)]),
        "tuple": ("{p}[0] + {p}[1][0] * 1.0", True, [
            ((1, (2,)), 3.0), ([0.5, (1, 2)], 1.5), ((True, [np.int8(3)]), 4.0)]),
        "type": ("{p}.primitive_bitwidth * 1.0", True, [(tl.float16, 16.0), (torch.float64, 64.0), (torch.int8, 8.0)]),
        "maybe": ("8.0 if {p} is None else {p} * 1.0", True, [(None, 8.0), (2, 2.0), (0.5, 0.5)])}

    def text_of(self, at, parameters):
        declared, defaults, stores = [], {}, ""
        for place, (name, kind, default) in enumerate(parameters):
            text, known, _ = self.KINDS[kind]
            note = ": tl.constexpr" if known else ""
            if default is not None:
                defaults[f"D{at}_{place}"] = default[0]
                note += f" = D{at}_{place}"
            declared.append(name + note)
            stores += f"    tl.store(OUT + {place}, {text.format(p=name)})\n"
        return f"@tessera.jit\ndef k{at}(OUT, {', '.join(declared)}):\n{stores}", defaults

    def test_random_signatures(self, subtests):
        random = Random(7)
        texts, scope, signatures = "import tessera\nimport tessera.language as tl\n", {}, []
        for at in range(self.KERNELS):
            names = random.sample(TestParameterNames.NAMES, random.randint(1, 6))
            first_default = random.randint(0, len(names))
            parameters = []
            for place, name in enumerate(names):
                kind = random.choice(list(self.KINDS))
                default = random.choice(self.KINDS[kind][2]) if place >= first_default else None
                parameters.append((name, kind, default))
            text, defaults = self.text_of(at, parameters)
            texts += text
            scope.update(defaults)
            signatures.append(parameters)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "random_signatures.py")
            path.write_text(texts)
            spec = importlib.util.spec_from_file_location("random_signatures", path)
            module = importlib.util.module_from_spec(spec)
            vars(module).update(scope)
            spec.loader.exec_module(module)
            for at, parameters in enumerate(signatures):
                for _ in range(self.LAUNCHES):
                    self.launch(random, getattr(module, f"k{at}"), parameters, subtests)

    def launch(self, random, kernel, parameters, subtests):
        out = torch.full((len(parameters),), float("nan"), dtype=torch.float64)
        positional = random.randint(0, len(parameters))
        args, named, want = [out], {}, []
        for place, (name, kind, default) in enumerate(parameters):
            if place >= positional and default is not None and random.random() < 0.5:
                want.append(default[1])
                continue
            value, number = random.choice(self.KINDS[kind][2])
            want.append(number)
            if place < positional:
                args.append(value)
            else:
                named[name] = value
        named = dict(random.sample(list(named.items()), len(named)))
        grid = random.choice([(1,), [1, 1], (1, 1, 1), lambda meta: (len(meta["OUT"]) // len(parameters),), 1])
        with subtests.test(kernel=kernel.__name__, parameters=parameters, args=args[1:], named=named):
            kernel[grid](*args, **named)
            assert out.tolist() == want


def numpy_scalars():
    for kind in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.intp):
        yield kind(3)
    for kind in (np.float16, np.float32, np.float64, np.longdouble):
        yield kind(0.75)
    yield from (np.bool_(True), np.bool_(False), np.sqrt(2.0), np.uint64(2**63 + 4096), np.float64("-inf"))


CONSTANT = 0


class TestNumbers:
    def check(self, launch, value):
        out = torch.full((1,), -1, dtype=torch.float64)
        launch(out)
        assert out.item() == torch.tensor(float(value), dtype=torch.float32 if isinstance(
            value, np.floating) else torch.float64).item(), repr(value)

    def test_scalars_of_numpy(self, subtests):
        global CONSTANT
        for value in numpy_scalars():
            with subtests.test(value=repr(value)):
                CONSTANT = value

                @tessera.jit
                def constant(OUT):
                    tl.store(OUT, CONSTANT)

                @tessera.jit
                def known(OUT, S: tl.constexpr):
                    tl.store(OUT, S)

                @tessera.jit
                def argument(OUT, s):
                    tl.store(OUT, s)

                @tessera.jit
                def of_a_tuple(OUT, S: tl.constexpr):
                    tl.store(OUT, S[1])

                self.check(constant[(1,)], value)
                self.check(lambda out, known=known, value=value: known[(1,)](out, S=value), value)
                self.check(lambda out, argument=argument, value=value: argument[(1,)](out, value), value)
                self.check(lambda out, of_a_tuple=of_a_tuple, value=value: of_a_tuple[(1,)](out, (0, value)), value)

    def test_integers_beyond_63_bits(self):
        @tessera.jit
        def store(OUT, s):
            tl.store(OUT, s)

        @tessera.jit
        def known(OUT, S: tl.constexpr):
            tl.store(OUT, S)

        out = torch.zeros(1, dtype=torch.uint64)
        for value in (1, 2**31, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1, 2**64 - 16):
            for kernel in (store, known):
                kernel[(1,)](out, value)
                assert out.item() == value
        for value in (2**64, -2**63 - 1):
            with pytest.raises(OverflowError, match=f"argument `s` is {value}, which does not fit 64 bits\nHINT"):
                store[(1,)](out, value)

    def test_a_number_that_is_too_large_first(self):
        @tessera.jit
        def store(OUT, s):
            tl.store(OUT, s)

        out = torch.zeros(1, dtype=torch.uint64)
        with pytest.raises(OverflowError, match="argument `s`"):
            store[(1,)](out, 2**64)
        store.warmup(out, 2**63, grid=(1,))
        store[(1,)](out, 2**63)
        assert out.item() == 2**63

    def test_options_that_numpy_made(self):
        @tessera.jit
        def store(OUT, N: tl.constexpr):
            tl.store(OUT, N)

        out = torch.zeros(1)
        compiled = store[(np.int32(1),)](out, np.int64(5), num_warps=np.int64(2), num_stages=tl.constexpr(3))
        assert (out.item(), compiled.metadata.num_warps, compiled.metadata.num_stages) == (5, 2, 3)


class TestTuples:
    def test_a_tuple_is_a_constexpr(self):
        @tessera.jit
        def store(OUT, SHAPE: tl.constexpr):
            tl.store(OUT, SHAPE[0] * SHAPE[1] * 1.0)

        @tessera.jit
        def nested(OUT, PARTS: tl.constexpr):
            tl.store(OUT, tl.zeros((PARTS[0][0],), PARTS[1]).to(tl.float32).sum(0) + PARTS[2][0][1])
            if PARTS[3] is None and PARTS[4] == "text":
                tl.store(OUT + 1, PARTS[5])

        out = torch.zeros(2)
        for shape in ((4, 8), [2, 8], (2, 8), (2.5, 8), (True, 8), (1, 8)):
            store[(1,)](out, SHAPE=shape)
            assert out[0].item() == shape[0] * shape[1]
        nested[(1,)](out, ((4,), torch.float16, ((1, 2),), None, "text", float("inf")))
        assert out.tolist() == [2, float("inf")]

    def test_tuples_that_are_equal_in_python(self):
        @tessera.jit
        def kind(OUT, T: tl.constexpr):
            if isinstance(T[0], bool):
                tl.store(OUT, 1)
            elif isinstance(T[0], int):
                tl.store(OUT, 2)
            else:
                tl.store(OUT, 3)

        out = torch.zeros(1)
        for value, want in (((True,), 1), ((1,), 2), ((1.0,), 3), ((True,), 1)):
            kind[(1,)](out, value)
            assert out.item() == want


settings = types.SimpleNamespace(SIZE=4, inner=types.SimpleNamespace(FACTOR=2.5))
STATE = 1.0
LEVELS = [1.0, 2.0]
WRAPPED = tl.constexpr(3.0)


@tessera.jit
def uses_state(x):
    return x + STATE


class TestConstants:
    def setup_method(self):
        global STATE, WRAPPED
        STATE, WRAPPED = 1.0, tl.constexpr(3.0)
        LEVELS[0], settings.inner.FACTOR = 1.0, 2.5

    def refused(self, name, before, after, launch):
        with pytest.raises(RuntimeError, match=f"the constant `{name}` was {before} when the kernel was first "
                                    f"compiled, and is {after} now\nHINT: pass the value as a tl.constexpr argument"):
            launch()

    def test_a_changed_constant_is_an_error(self):
        global STATE

        @tessera.jit
        def kernel(OUT, B: tl.constexpr):
            tl.store(OUT + tl.arange(0, B), STATE)

        out = torch.zeros(2)
        STATE = 2.0
        kernel[(1,)](out, B=1)  # read at the first launch
        assert out.tolist() == [2, 0]
        for changed in (4.0, 2, None, {}, object()):
            STATE = changed
            for launch in (lambda: kernel[(1,)](out, B=1), lambda: kernel[(1,)](out, B=2),
                           lambda: kernel.warmup(out, B=2, grid=(1,))):
                self.refused("STATE", "2.0", "not a compile-time value" if type(changed) is object else changed, launch)
        STATE = float("2.0")  # equal
        kernel[(1,)](out, B=2)
        assert out.tolist() == [2, 2]
        del STATE
        self.refused("STATE", "2.0", "None", lambda: kernel[(1,)](out, B=2))

    def test_constants_of_helpers(self):
        global STATE

        @tessera.jit
        def kernel(OUT):
            tl.store(OUT, uses_state(1.0))

        out = torch.zeros(1)
        kernel[(1,)](out)
        STATE = 5.0
        self.refused("STATE", "1.0", "5.0", lambda: kernel[(1,)](out))

    def test_variables_around_the_kernel(self):
        size = 3

        @tessera.jit
        def kernel(OUT):
            tl.store(OUT, size)

        out = torch.zeros(1)
        kernel[(1,)](out)
        assert out.item() == 3
        size = 4
        self.refused("size", "3", "4", lambda: kernel[(1,)](out))

    def test_attributes(self):
        @tessera.jit
        def kernel(OUT):
            tl.store(OUT, settings.inner.FACTOR * settings.SIZE)

        out = torch.zeros(1)
        kernel[(1,)](out)
        assert out.item() == 10
        settings.inner.FACTOR = 3
        self.refused("settings.inner.FACTOR", "2.5", "3", lambda: kernel[(1,)](out))
        with mock.patch.object(settings, "inner", types.SimpleNamespace(FACTOR=2.5)):
            kernel[(1,)](out)

    def test_values_that_change_in_place(self):
        @tessera.jit
        def kernel(OUT):
            tl.store(OUT, LEVELS[0])

        @tessera.jit
        def wrapped(OUT):
            tl.store(OUT, WRAPPED)

        out = torch.zeros(1)
        kernel[(1,)](out)
        assert out.item() == 1
        LEVELS[0] = 7.0
        self.refused("LEVELS", r"\(1.0, 2.0, \)", r"\(7.0, 2.0, \)", lambda: kernel[(1,)](out))
        LEVELS[0] = 1.0
        kernel[(1,)](out)
        wrapped[(1,)](out)
        assert out.item() == 3
        WRAPPED.value = 9.0
        self.refused("WRAPPED", "3.0", "9.0", lambda: wrapped[(1,)](out))


def make(n):
    @tessera.jit
    def helper(x, twice: tl.constexpr = n + n):
        return x * 10 + n + 1000 * twice

    return helper


one, two = make(1), make(2)
helper__2 = 0.5


WIDTH = 8


@tessera.jit
def wider(x, width: tl.constexpr = WIDTH):
    return x + width


WIDTH = 16


class TestHelpers:
    def test_defaults_are_those_of_the_definition(self):
        @tessera.jit
        def kernel(OUT):
            tl.store(OUT, wider(1.0))

        out = torch.zeros(1)
        kernel[(1,)](out)
        assert out.item() == 9

    def test_two_helpers_of_one_factory(self):
        first, second = one, two

        @tessera.jit
        def kernel(OUT):
            tl.store(OUT, second(first(1.0, 0), 0))

        @tessera.jit
        def with_defaults(OUT):
            tl.store(OUT, one(1.0))
            tl.store(OUT + 1, two(1.0) + helper__2)

        out = torch.zeros(2)
        kernel[(1,)](out)
        assert out[0].item() == 112
        with_defaults[(1,)](out)
        assert out.tolist() == [2011, 4012.5]

    def test_two_kernels_of_one_factory(self):
        def factory(n):
            @tessera.jit
            def kernel(OUT, B: tl.constexpr = n):
                tl.store(OUT, n * 10 + B)
            return kernel

        out = torch.zeros(1)
        for n in (1, 2, 1):
            factory(n)[(1,)](out)
            assert out.item() == 11 * n

    def test_a_helper_that_its_kernel_hides(self):
        def inner():
            @tessera.jit
            def kernel(x):
                return x + 5
            return kernel

        add = inner()

        @tessera.jit
        def kernel(OUT):
            tl.store(OUT, add(1.0))

        out = torch.zeros(1)
        kernel[(1,)](out)
        assert out.item() == 6

    def test_a_second_name_is_not_one_of_a_variable(self):
        def factory():
            LEVELS = 7.0

            @tessera.jit
            def inner(x):
                LEVELS__2 = x + 1
                return LEVELS__2 * LEVELS
            return inner

        scaled = factory()

        @tessera.jit
        def kernel(OUT):
            tl.store(OUT, scaled(1.0) + LEVELS[1])

        out = torch.zeros(1)
        kernel[(1,)](out)
        assert out.item() == 16

    def test_recursion_is_refused(self):
        @tessera.jit
        def again(x):
            return again(x - 1)

        @tessera.jit
        def kernel(OUT):
            tl.store(OUT, again(3.0))

        with pytest.raises(RuntimeError, match="again"):
            kernel[(1,)](torch.zeros(1))


class TestLoops:
    def test_a_negative_step_of_run_time_runs_no_iteration(self):
        @tessera.jit
        def count(OUT, a, b, s, S: tl.constexpr):
            rounds = 0
            for _ in range(a, b, s):
                rounds += 1
            known = 0
            for _ in range(88, -1, S):
                known += 1
            tl.store(OUT, rounds)
            tl.store(OUT + 1, known)

        out = torch.zeros(2, dtype=torch.int32)
        for a, b, s, want in ((88, -1, -8, 0), (0, 88, 8, 11), (88, 0, 8, 0)):
            count[(1,)](out, a, b, s, S=-8)
            assert out.tolist() == [want, len(range(88, -1, -8))]


class TestWarmup:
    def test_compiles_only(self):
        @tessera.jit
        def store(X, n, B: tl.constexpr):
            tl.store(X + tl.arange(0, B), n + 0.125)

        x = torch.zeros(2)
        for warm in (lambda: store.run(x, 5, 2, grid=(1,), warmup=True), lambda: store.warmup(x, 5, B=2, grid=(1,)),
                     lambda: store.warmup(torch.float32, 5, B=2, grid=(1,), num_ctas=1)):
            compiled = warm()
            assert x.tolist() == [0, 0]
        before = compilations()
        store[(1,)](x, 5, B=2)
        assert (x.tolist(), compilations()) == ([5.125, 5.125], before)
        assert compiled.n_regs >= 1
        assert compiled.metadata.shared >= 1
        compiled._init_handles()
        x.zero_()
        compiled[(1, 1, 1)](x, 7, 2)
        assert x.tolist() == [7.125, 7.125]

    def test_the_compiled_kernel_takes_arguments_by_position(self):
        @tessera.jit
        def store(X, *, B: tl.constexpr, n: tl.int32, C: tl.constexpr = 3):
            tl.store(X + tl.arange(0, B), n * C)

        x = torch.zeros(4)
        compiled = store.warmup(x, B=2, n=5, grid=(1,))
        before = compilations()
        for arguments in ((2, 7), (2, 7, 3), (4, 7, 5)):  # the code has B=2 and C=3
            x.zero_()
            compiled[(1, 1, 1)](x, *arguments)
            assert x.tolist() == [21, 21, 0, 0]
        compiled[lambda meta: (meta["n"] - 7,)](x, 2, 8)
        assert (x.tolist(), compilations()) == ([24, 24, 0, 0], before)
        for arguments in ((x,), (x, 2), (x, 2, 7, 3, 1)):
            with pytest.raises(TypeError, match=f"takes 4 arguments in order, got {len(arguments)}\nHINT: pass X, B, n, C"):
                compiled[(1,)](*arguments)
        with pytest.raises(TypeError, match="unexpected keyword argument"):
            compiled[(1,)](x, B=2, n=7)

    def test_of_decorated_kernels(self):
        @tessera.autotune([tessera.Config({"B": 16}), tessera.Config({"B": 32})], key=["n"],
                          do_bench=lambda call, quantiles: self.fail("timed"))
        @tessera.heuristics({"TWICE": lambda args: 2 * args["B"]})
        @tessera.jit
        def store(X, n, B: tl.constexpr, TWICE: tl.constexpr):
            tl.store(X, TWICE)

        x = torch.zeros(1)
        before = compilations()
        assert len(store.warmup(x, 5, grid=(1,))) == 2
        assert len(store.run(x, 5, grid=(1,), warmup=True)) == 2
        assert (x.item(), compilations()) == (0, before + 2)

    def test_launches_take_no_warmup(self):
        @tessera.jit
        def store(X):
            tl.store(X, 1.0)

        for name in ("warmup", "_grid", "grid"):
            with pytest.raises(TypeError, match=f"no parameter `{name}`"):
                store[(1,)](torch.zeros(1), **{name: True})


class TestOptions:
    def test_each_option_that_changes_code_has_its_plan(self):
        @tessera.jit
        def store(X):
            tl.store(X, 1.0)

        x = torch.zeros(1)
        launch = store[(1,)]
        launch(x)
        for options in ({"num_warps": 1}, {"num_warps": 2}, {"num_stages": 4}, {"num_stages": 5},
                        {"num_warps": 1, "num_stages": 5}):
            before = compilations()
            compiled = launch(x, **options)
            assert compilations() == before + 1, options
            launch(x, **options)
            assert compilations() == before + 1, options
            for name, value in options.items():
                assert getattr(compiled.metadata, name) == value

    def test_debug_of_one_launch(self):
        @tessera.jit
        def checked(n):
            tl.device_assert(n == 5, "five")

        checked[(1,)](6)
        with pytest.raises(RuntimeError, match="five"):
            checked[(1,)](6, debug=True)
        checked[(1,)](5, debug=True)
        checked[(1,)](6)
        checked[(1,)](6, debug=False)

    def test_options_of_jit(self):
        with pytest.raises(TypeError):
            tessera.jit(do_not_specialise=["n"])
        for name in ("do_not_specialize", "do_not_specialize_on_alignment"):
            kernel = tessera.jit(**{name: ["n", 0]})(numbers_of)
            assert kernel.decorator == f"@triton.jit({name}=['n', 'OUT'])"


def numbers_of(OUT, n):
    pass
