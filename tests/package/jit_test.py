# tests/package/jit_test.py - tessera.jit: the arguments that a launch passes on, and the errors that refuse a launch.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
from unittest import mock

import kernels_for_jit
import pytest
import torch
from kernels_for_jit import cubed as third_power

import tessera
import tessera.language as tl

ops = torch.ops.tessera
internal = torch.ops.tessera_internal
OFFSET = 2.5
COUNT = len([0] * 3)  # no literal: the compiler is given the value
LEVELS = (1.0, 10.0)
BIG = float("inf")


@tessera.jit
def add(X, Y, OUT, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + at, mask=at < n, other=0.0)
    y = tl.load(Y + at, mask=at < n, other=0.0)
    tl.store(OUT + at, x + y, mask=at < n)


@tessera.jit
def constants(OUT):
    at = tl.arange(0, 8)
    value = tl.where(at == 0, OFFSET, tl.where(at == 1, COUNT, tl.where(at == 2, LEVELS[1], 0.0)))
    tl.store(OUT + at, tl.where(at == 3, BIG, value))


@tessera.jit
def kinds(OUT, i, f, b, none, FLAG: tl.constexpr, TEXT: tl.constexpr, TYPE: tl.constexpr, EPS: tl.constexpr,
          NOTHING: tl.constexpr):
    value = i + f
    tl.static_assert(b.dtype == tl.int1)
    if b:
        value += 100
    if none is None:
        value += 1000
    if FLAG:
        value += 10000
    if TEXT == "it's \"so\"\\":
        value += 100000
    if NOTHING is None:
        value += 1000000
    tl.store(OUT, value)
    tl.store(OUT + 1, (tl.zeros((1,), TYPE) + 0.3).to(tl.float64).sum(0))
    tl.store(OUT + 2 + tl.arange(0, 1), tl.full((1,), EPS, tl.float64))


@tessera.jit
def declared(OUT, wide: tl.int64, small: tl.uint8, unsigned: "tl.uint32", real: tl.float64, single: "fp32"):  # noqa: F821
    tl.static_assert(wide.dtype == tl.int64)
    tl.static_assert(small.dtype == tl.uint8)
    tl.static_assert(unsigned.dtype == tl.uint32)
    tl.static_assert(real.dtype == tl.float64)
    tl.static_assert(single.dtype == tl.float32)
    tl.store(OUT, (wide * wide).to(tl.float64))
    tl.store(OUT + 1, (small + small).to(tl.float64))
    tl.store(OUT + 2, (unsigned // 2).to(tl.float64))
    tl.store(OUT + 3, real)
    tl.store(OUT + 4, single.to(tl.float64))
    tl.store(OUT + 5 + tl.arange(0, 4), (tl.arange(0, 4) * wide).to(tl.float64))


width = 4
index = sorted([lambda: 0], key=id)[0]  # no function that a kernel could call


@tessera.jit
def shadowing(OUT, width: tl.constexpr = width):
    index = tl.arange(0, width)
    tl.store(OUT + index, index + 1.0)


@tessera.jit
def helped(X, OUT, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(OUT + at, third_power(tl.load(X + at)))


@tessera.jit
def pid(OUT, sx, sy):
    tl.store(OUT + tl.program_id(0) * sx + tl.program_id(1) * sy + tl.program_id(2), 1 + tl.program_id(1))


@tessera.jit
def bare(n):
    tl.device_assert(n == 5)


class TestLaunch:
    def check_add(self, launch, n=1000, dtype=torch.float32):
        x, y = torch.randn(n).to(dtype), torch.randn(n).to(dtype)
        out = torch.full_like(x, float("nan"))
        launch(x, y, out, n)
        torch.testing.assert_close(out, x + y)

    def test_triton_syntax(self):
        self.check_add(lambda x, y, out, n: add[(tessera.cdiv(n, 128),)](x, y, out, n, BLOCK=128, num_warps=4))
        self.check_add(lambda x, y, out, n: add[(8, 1, 1)](x, y, out, n, 128))
        self.check_add(lambda x, y, out, n: add[[4, 2]](X=x, Y=y, OUT=out, n=n, BLOCK=256), n=1000)
        self.check_add(lambda x, y, out, n: add.run(x, y, out, n, 512, grid=(2,)))
        self.check_add(lambda x, y, out, n: add[lambda m: (tessera.cdiv(m["n"], m["BLOCK"]),)](x, y, out, n, BLOCK=64))
        self.check_add(lambda x, y, out, n: add[lambda m: tessera.cdiv(n, m["BLOCK"])](x, y, out, n, BLOCK=64))

    def test_types_are_the_arguments(self, subtests):
        for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
            with subtests.test(dtype=dtype):
                self.check_add(lambda x, y, out, n: add[(16,)](x, y, out, n, BLOCK=64), dtype=dtype)
        x = torch.arange(64, dtype=torch.int32)
        out = torch.zeros(64, dtype=torch.int64)
        add[(1,)](x, x, out, 64, BLOCK=64)
        assert out.tolist() == (2 * x).tolist()

    def test_unaligned_tensors(self):
        self.check_add(lambda x, y, out, n: add[(8,)](x, y, out, n, BLOCK=128))
        x, y, out = torch.randn(101)[1:], torch.randn(103)[3:], torch.zeros(101)[1:]
        add[(1,)](x, y, out, 100, BLOCK=128)
        torch.testing.assert_close(out, x + y)

    def test_grid(self, subtests):
        out = torch.zeros(3, 5, 2)
        pid[(3, 5, 2)](out, 10, 2)
        torch.testing.assert_close(out, torch.arange(1., 6.)[None, :, None].expand(3, 5, 2))
        out.zero_()
        pid[(3, 5)](out, 10, 2)
        assert out[:, :, 0].min().item() == 1
        assert out[:, :, 1].abs().sum().item() == 0
        pid[(0,)](out, 10, 2)
        for bad in ((), (1, 1, 1, 1), "x", None):
            with subtests.test(grid=bad), pytest.raises(ValueError, match="kernel `pid`: the grid is .*\nHINT: "):
                pid[bad](out, 10, 2)

    def test_kinds_of_values(self):
        out = torch.zeros(3, dtype=torch.float64)
        kinds[(1,)](out, 2, 0.5, True, None, FLAG=True, TEXT="it's \"so\"\\", TYPE=tl.float16, EPS=1e-5, NOTHING=None)
        assert out[0].item() == 1111102.5
        assert out[1].item() == torch.tensor(0.3, dtype=torch.float16).double().item()
        assert out[2].item() == 1e-5
        kinds[(1,)](out, 2, 0.5, False, out, FLAG=False, TEXT="", TYPE=tl.float32, EPS=-0.0, NOTHING=0)
        assert out[0].item() == 2.5
        assert out[1].item() == torch.tensor(0.3).double().item()
        assert str(out[2].item()) == "-0.0"
        kinds[(1,)](out, 2, 0.5, False, out, FLAG=False, TEXT="", TYPE=tl.float32, EPS=0.0, NOTHING=0)
        assert str(out[2].item()) == "0.0"
        kinds[(1,)](out, 2, 0.5, False, out, FLAG=1, TEXT="", TYPE=tl.float32, EPS=tl.constexpr(0.25), NOTHING=0)
        assert out[0].item() == 10002.5
        assert out[2].item() == 0.25

    def test_integers_below_2_to_the_127(self):
        @tessera.jit
        def upper(OUT, N: tl.constexpr):
            tl.store(OUT, N >> 100)

        out, most = torch.zeros(1, dtype=torch.int64), (1 << 127) - 1
        for number in (most, -most):
            upper[(1,)](out, number)
            assert out.item() == number >> 100
        for number in (most + 1, -most - 1):
            with pytest.raises(TypeError, match=f"constexpr `N` is {number}\nHINT: pass a number"):
                upper[(1,)](out, number)

    def test_numbers_of_other_libraries(self):
        numpy = __import__("numpy")
        self.check_add(lambda x, y, out, n: add[(numpy.int64(8),)](x, y, out, numpy.int32(n), BLOCK=numpy.int64(128)))

    def test_constants_and_helpers(self):
        out = torch.zeros(8)
        constants[(1,)](out)
        assert out.tolist() == [2.5, 3.0, 10.0, float("inf"), 0, 0, 0, 0]
        x = torch.randn(16)
        out = torch.zeros(16)
        helped[(1,)](x, out, BLOCK=16)
        torch.testing.assert_close(out, x ** 3)

    def test_one_name_in_two_files(self):
        @tessera.jit
        def clash(OUT):
            tl.store(OUT, kernels_for_jit_scaled(1.0) + SCALE)

        out = torch.zeros(1)
        clash[(1,)](out)
        assert out.item() == kernels_for_jit.SCALE + SCALE

    def test_variables_hide_names_of_the_file(self):
        out = torch.zeros(8)
        shadowing[(1,)](out)
        assert out.tolist() == [1, 2, 3, 4, 0, 0, 0, 0]

    def test_kernel_in_a_function(self):
        factor = 7

        @tessera.jit
        def local(OUT, n):
            tl.store(OUT, n * factor)

        out = torch.zeros(1)
        local[(1,)](out, 6)
        assert out.item() == 42

    def test_no_tensor(self):
        bare[(1,)](5)

    def test_debug(self):
        @tessera.jit(debug=True)
        def checked(n):
            tl.device_assert(n == 5, "five")

        checked[(1,)](5)
        with pytest.raises(RuntimeError, match="five"):
            checked[(1,)](6)
        bare[(1,)](6)

    def test_do_not_specialize(self):
        def compilations(decorate):
            @decorate
            def numbers(OUT, n, m):
                tl.store(OUT, n + m)

            before = ops.kernel_stats()
            out = torch.zeros(1)
            for n in (1, 2, 16):
                numbers[(1,)](out, n, 3)
                assert out.item() == n + 3
            after = ops.kernel_stats()
            return after[0] + after[1] - before[0] - before[1]

        assert compilations(tessera.jit) == 3
        assert compilations(tessera.jit(do_not_specialize=["n"])) == 1
        assert compilations(tessera.jit(do_not_specialize=[1])) == 0

    def test_parameters_that_require_gradients(self):
        self.check_add(lambda x, y, out, n: add[(8,)](torch.nn.Parameter(x), y, out, n, BLOCK=128))

    def test_meta_tensors(self):
        x = torch.zeros(8, device="meta")
        add[(1,)](x, x, x, 8, BLOCK=8)

    def test_options_change_the_code_only(self):
        before = ops.kernel_stats()[0] + ops.kernel_stats()[1]
        x, out = torch.randn(32), torch.zeros(32)
        for warps in (1, 2):
            add[(1,)](x, x, out, 32, BLOCK=32, num_warps=warps, num_stages=1, num_ctas=1)
            torch.testing.assert_close(out, 2 * x)
        assert ops.kernel_stats()[0] + ops.kernel_stats()[1] == before + 2

    def test_a_second_launch_plans_nothing(self):
        x, out = torch.randn(32), torch.zeros(32)
        add[(1,)](x, x, out, 32, BLOCK=32)
        with mock.patch.object(add, "source", None), mock.patch.dict(add._launch.__globals__, {"_plan": None}):
            add[(1,)](x, x, out, 31, BLOCK=32)  # the same types
            for n, block in ((32.0, 32), (32, 16.0), (32, 4), (True, 32)):  # others
                with pytest.raises(TypeError):
                    add[(1,)](x, x, out, n, BLOCK=block)

    def test_a_second_launch_compiles_nothing(self):
        x, out = torch.randn(32), torch.zeros(32)
        add[(1,)](x, x, out, 32, BLOCK=32)
        before = ops.kernel_stats()
        add[(1,)](x, x, out, 32, BLOCK=32)
        after = ops.kernel_stats()
        assert after[:2] == before[:2]
        assert after[2] == before[2] + 1


class TestMessages:
    x = torch.zeros(8)

    def refused(self, kind, text, launch):
        with pytest.raises(kind) as caught:
            launch()
        assert text in str(caught.value)

    def test_arguments(self):
        x = self.x
        self.refused(TypeError, "missing 1 required positional argument: 'BLOCK'", lambda: add[(1,)](x, x, x, 8))
        self.refused(TypeError, "takes 6 positional arguments but 7 were given", lambda: add[(1,)](x, x, x, 8, 8, 4))
        self.refused(TypeError, "no parameter `BLOK`\nHINT: it has X, Y, OUT, n, BLOCK",
                     lambda: add[(1,)](x, x, x, 8, BLOCK=8, BLOK=8))
        self.refused(TypeError, "argument `n` is 'eight'\nHINT: such a value is a constexpr",
                     lambda: add[(1,)](x, x, x, "eight", BLOCK=8))
        self.refused(TypeError, "argument `Y` is a list\nHINT: pass a tensor", lambda: add[(1,)](x, [1], x, 8, BLOCK=8))
        self.refused(TypeError, "constexpr `BLOCK` is {", lambda: add[(1,)](x, x, x, 8, BLOCK={}))
        self.refused(ValueError, "num_warps is 65; pass an integer from 1 to 64",
                     lambda: add[(1,)](x, x, x, 8, BLOCK=8, num_warps=65))
        self.refused(RuntimeError, "kernel `add` is called like a function\nHINT: launch it with add[grid]",
                     lambda: add(x, x, x, 8))
        self.refused(RuntimeError, "triton.language.load is called outside of a kernel\nHINT:", lambda: tl.load(x))
        self.refused(TypeError, "tessera.jit is for a function", lambda: tessera.jit(5))

    def test_a_mistake_in_the_kernel_has_its_line(self):
        @tessera.jit
        def wrong(OUT):
            tl.store(OUT, tl.flot(1))

        line = wrong.fn.__code__.co_firstlineno + 2
        self.refused(RuntimeError, f"jit_test.py:{line}:", lambda: wrong[(1,)](self.x))

    def test_text_that_is_not_there(self):
        scope = {"tessera": tessera, "tl": tl}
        exec("@tessera.jit\ndef unseen(OUT):\n    tl.store(OUT, 1)\n", scope)
        self.refused(RuntimeError, "source text of `unseen` is not available", lambda: scope["unseen"][(1,)](self.x))

    def test_ops_below(self):
        number = internal.jit_kernel("k.py", "import triton\n@triton.jit\ndef k(X, n):\n    pass\n", "k", "ts", "", "")
        internal.jit_launch(number, [self.x], [1], 1, 1, 1)
        self.refused(ValueError, "was given 0 tensors and 1 numbers", lambda: internal.jit_launch(number, [], [1], 1, 1, 1))
        self.refused(ValueError, "was given 1 tensors and 2 numbers",
                     lambda: internal.jit_launch(number, [self.x], [1, 2], 1, 1, 1))
        for none in (-1, 1 << 40):
            self.refused(ValueError, "no kernel", lambda: internal.jit_launch(none, [self.x], [1], 1, 1, 1))
        text = "import triton\n@triton.jit\ndef k(X, n):\n    pass\n"
        for order in ("t", "tss", "tx"):
            self.refused(ValueError, "pass t, s, b or n", lambda: internal.jit_kernel("k.py", text, "k", order, "", ""))
        self.refused(ValueError, "options are `BLOCK=1`; there are num_warps and num_stages",
                     lambda: internal.jit_kernel("k.py", text, "k", "ts", "", "BLOCK=1"))


kernels_for_jit_scaled = kernels_for_jit.scaled
SCALE = 4.0


class TestNumbers:
    def test_cdiv(self):
        assert [tessera.cdiv(n, 4) for n in (0, 1, 4, 5, 8)] == [0, 1, 1, 2, 2]

    def test_next_power_of_2(self):
        assert [tessera.next_power_of_2(n) for n in (0, 1, 2, 3, 4, 5, 1 << 40, (1 << 40) + 1)] == [0, 1, 2, 4, 4, 8, 1 << 40, 1 << 41]


class TestDeclaredTypes:
    """Annotations such as tl.int64 set the type of a number, as in Triton."""

    @pytest.mark.parametrize("wide, small, unsigned, real, single", [(1 << 30, 200, -2, 0.1, 0.1), (1, 1, 1, 1.0, 1), (16, 16, 16, 3, 2)])
    def test_types_are_those_declared(self, wide, small, unsigned, real, single):
        out = torch.zeros(9, dtype=torch.float64)
        declared[(1,)](out, wide, small, unsigned, real, single)
        expected = [wide * wide, (2 * small) % 256, (unsigned % (1 << 32)) // 2, real, torch.tensor(single, dtype=torch.float32).item()]
        assert out.tolist() == [float(one) for one in [*expected, *(at * wide for at in range(4))]]

    @pytest.mark.parametrize("bits", [8, 16, 32, 64])
    @pytest.mark.parametrize("kind", ["int", "uint"])
    def test_numbers_that_do_not_fit_their_declaration(self, kind, bits, tmp_path):
        path = tmp_path / "narrow.py"
        text = (f"import tessera\nimport tessera.language as tl\n\n\n@tessera.jit\ndef narrow(OUT, n: tl.{kind}{bits}):\n"
                "    tl.store(OUT, n.to(tl.int64))\n")
        path.write_text(text)
        scope = {"__name__": "narrow"}
        exec(compile(text, str(path), "exec"), scope)
        kernel = scope["narrow"]
        out = torch.zeros(1, dtype=torch.int64)
        least, most = -(1 << bits - 1), (1 << bits - (kind == "int")) - 1
        beyond = [number for number in (least - 1, most + 1, most + 17, most + 33, 2 * most + 2, 1 << 40, 1 << 63, -(1 << 63), (1 << 64) - 16)
                  if -(1 << 63) <= number < 1 << 64 and not least <= number <= most]
        for number in [7, 16, 48, least, most, most // 16 * 16, *range(5)]:  # of all classes that a key tells apart
            kernel[(1,)](out, number)
            assert out.item() & ((1 << 64) - 1) == (number % (1 << bits) if kind == "uint" else number) & ((1 << 64) - 1)
            for other in beyond:
                with pytest.raises(Exception, match=f"argument `n` is {other}, and the parameter is annotated with {kind[0]}{bits}\n"
                                                    f".*pass a number from {least} to {most}, or annotate"):
                    kernel[(1,)](out, other)

    @pytest.mark.parametrize("annotation", ["tl.int1", "\"i1\"", "\"tl.int1\"", "\"u1\""])
    def test_numbers_declared_as_int1(self, annotation, tmp_path):
        path = tmp_path / "truth.py"
        text = (f"import tessera\nimport tessera.language as tl\n\n\n@tessera.jit\ndef truth(OUT, n: {annotation}):\n"
                "    tl.static_assert(n.dtype == tl.int1)\n    tl.store(OUT, n.to(tl.int64) + 10)\n"
                "    if n:\n        tl.store(OUT + 1, tl.where(n, 3, 4).to(tl.int64))\n")
        path.write_text(text)
        scope = {"__name__": "truth"}
        exec(compile(text, str(path), "exec"), scope)
        kernel = scope["truth"]
        for number in (True, False, 1, 0, -1):
            out = torch.zeros(2, dtype=torch.int64)
            kernel[(1,)](out, number)
            assert out.tolist() == ([11, 3] if number else [10, 0])
            for other in (2, -2, 16, 17, 1 << 40, (1 << 64) - 16):
                with pytest.raises(Exception, match=f"argument `n` is {other}, and the parameter is annotated with i1\n"
                                                    ".*pass a number from -1 to 1, or annotate"):
                    kernel[(1,)](out, other)

    def test_other_numbers_are_refused(self):
        out = torch.zeros(9, dtype=torch.float64)
        with pytest.raises(Exception, match="argument `wide` is 0.5, and the parameter is annotated with i64\n.*pass an integer"):
            declared[(1,)](out, 0.5, 1, 1, 1.0, 1.0)

        @tessera.jit
        def half(OUT, x: tl.float16):
            tl.store(OUT, x)

        with pytest.raises(Exception, match="argument `x` is 0.5, and the parameter is annotated with fp16\n.*tl.float32"):
            half[(1,)](out, 0.5)


def test_the_text_is_that_of_the_decoration(tmp_path):
    """A file that changes before the first launch changes no kernel."""
    file = tmp_path / "edited.py"
    text = "import tessera\nimport tessera.language as tl\n\n\n@tessera.jit\ndef one(OUT):\n    tl.store(OUT, 1)\n"
    file.write_text(text)
    scope = {"__name__": "edited"}
    exec(compile(text, str(file), "exec"), scope)
    file.write_text("# a line\n" + text.replace("OUT, 1", "OUT, 2"))
    out = torch.zeros(1)
    scope["one"][(1,)](out)
    assert out.item() == 1
