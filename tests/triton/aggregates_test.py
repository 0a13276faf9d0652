# tests/triton/aggregates_test.py - classes under triton.aggregate and the atomics of Triton 3.9, against torch.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""TESSERA_DEVICE names the device. Triton's interpreter calls no functions of an aggregate, so torch has the expected values."""
import os

import pytest
from compiled import check, torch
from repository import ROOT

FILE = str(ROOT / "tests/triton/beyond/aggregates.py")
DEVICE = os.environ.get("TESSERA_DEVICE", "cpu")
N = 64


def launch(kernel, tensors, numbers=(), programs=1, constants=""):
    torch.ops.tessera.launch(FILE, kernel, tensors, list(numbers), [programs], f"N={N}{constants}")


def random(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(4))


def test_functions_fields_and_replacement():
    x, out = random(N), torch.zeros(2 * N)
    launch("k_line", [x, out])
    assert torch.allclose(out, torch.cat([x * x + x + 7, 4 * x]), atol=1e-6)


@pytest.mark.parametrize("n", (1, 2, 7))
def test_init_and_loops(n):
    x, out = random(N, n), torch.zeros(2 * N)
    launch("k_mean", [x, out], [n])
    assert torch.allclose(out[:N], x.mean(1) + 2 * N, atol=1e-5)
    assert torch.allclose(out[N:], x.flatten()[:N] - 1, atol=1e-5)


def test_functions_of_a_named_tuple():
    x, out = random(N), torch.zeros(N)
    launch("k_pair", [x, out])
    assert torch.allclose(out, x * (x + 1) - 3 * x, atol=1e-6)


def test_operators_that_a_class_defines():
    x, out = random(N), torch.zeros(4 * N)
    x[3] = 0
    launch("k_dual", [x, out])
    want = torch.cat([(2 - (x * x + 3 * x)) * x, -(2 * x + 3) * x + 2 - (x * x + 3 * x), (x < 0.5) + 2.0 * (x < 0.25), 1 + 2.0 * (x == 0)])
    assert torch.allclose(out, want, atol=1e-5)


@pytest.mark.parametrize("dtype", (torch.float32, torch.int32, torch.float64, torch.int64))
def test_atomic_load_and_store(dtype):
    """-0.0 and NaN with a payload keep their bits."""
    bits = torch.int32 if dtype.itemsize == 4 else torch.int64
    x, out = random(N).to(dtype), torch.zeros(N + 1, dtype=dtype)
    x[0], x[N - 1] = -0.0, 5
    x.view(bits)[1] = 0x7fc01234 if bits == torch.int32 else 0x7ff8000000001234
    launch("k_atomic_words", [x, out])
    want = torch.cat([x[:N // 2], torch.zeros(N - N // 2, dtype=dtype), x[-1:]])
    check(str(dtype), None if torch.equal(out.view(bits), want.view(bits)) else f"{out}")


def test_programs_wait_for_lower_ones():
    flags, out = torch.zeros(8, dtype=torch.int32), torch.zeros(8, N, dtype=torch.int32)
    launch("k_wait", [flags, out], programs=8)
    assert torch.equal(out, (torch.arange(N) + torch.arange(8)[:, None]).to(torch.int32))


@pytest.mark.parametrize("waiting", (1,) if DEVICE == "cpu" else (0, 1))
def test_wait_for_a_block(waiting):
    """A CPU may run all programs in one thread, in order, so only a later program waits there."""
    flags, out = torch.full((N,), -1, dtype=torch.int32), torch.zeros(N, dtype=torch.int32)
    launch("k_wait_block", [flags, out], programs=2, constants=f",WAITING={waiting}")
    assert bool((out == 1).all())


@pytest.mark.parametrize("n, fails", ((N, False), (N // 2, True)))
def test_expect_zero(n, fails):
    """The suite runs with TESSERA_DEBUG=1, which checks it."""
    x, out = random(N), torch.zeros(N)
    if fails:
        with pytest.raises(RuntimeError, match="expect_zero expected x == 0"):
            launch("k_expect_zero", [x, out], [n])
        x[n:] = 0
    launch("k_expect_zero", [x, out], [n])
    assert torch.equal(out, x + 3)
