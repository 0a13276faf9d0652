# tests/replay/recorder_test.py - what the recorder mends in Triton's interpreter, against torch.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import os

os.environ["TRITON_INTERPRET"] = "1"
import pytest  # noqa: E402
import record_from_triton as recorder  # noqa: E402
import torch  # noqa: E402
import triton  # noqa: E402
import triton.language as tl  # noqa: E402

recorder.mend_libdevice()
from triton.language.extra.libdevice import rsqrt, tanh  # noqa: E402


@triton.jit
def arithmetic(X, Y, N: tl.constexpr):
    at = tl.arange(0, N)
    x, y = tl.load(X + at), tl.load(Y + at)
    tl.store(Y + at, tl.where(x < y, -x, x * y))


@triton.jit
def floats(X, eps, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(X + at, tl.load(X + at) + eps.to(tl.float32))


@triton.jit
def steps(X, COUNT: tl.constexpr):
    for i in range(1, COUNT):
        tl.store(X + i, i.to(tl.int64) * i)


@triton.jit
def functions(X, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(X + at)
    tl.store(X + at, rsqrt(x) + tanh(x))


@triton.jit
def warps(X, num_warps: tl.constexpr):
    tl.store(X, num_warps)


class TestRecorder:
    @pytest.fixture(autouse=True)
    def prepare(self, tmp_path):
        torch.manual_seed(0)
        self.folder = tmp_path

    def record(self, kernel, *args, **named):
        return recorder.record(self.folder / "case", kernel, (1,), *args, **named)

    def test_arithmetic_of_bf16_is_of_numbers(self):
        x, y = (torch.randn(64).bfloat16() for _ in range(2))
        want = torch.where(x < y, -x, x * y)
        self.record(arithmetic, x, y, N=64)
        assert torch.equal(y, want)

    def test_floats_are_tensors(self):
        x = torch.zeros(4)
        self.record(floats, x, 0.25, N=4)
        assert x.tolist() == [0.25] * 4

    def test_steps_of_loops_are_tensors(self):
        x = torch.zeros(5, dtype=torch.int64)
        self.record(steps, x, COUNT=5)
        assert x.tolist() == [0, 1, 4, 9, 16]

    def test_functions_of_libdevice_have_results(self):
        x = torch.rand(16) + 0.5
        want = x.rsqrt() + x.tanh()
        self.record(functions, x, N=16)
        assert (x - want).abs().max().item() < 1e-6
        text = (self.folder / "case/kernel.py").read_text()
        assert "from triton.language.extra.libdevice import rsqrt" in text

    def test_the_number_of_warps_may_be_a_parameter(self):
        x = torch.zeros(1)
        case = self.record(warps, x, num_warps=8)
        assert (x.item(), case["constexprs"]) == (8, {"num_warps": 8})
