"""tests/python/tuples_test.py - tuples, named tuples and functions as arguments of tessera.jit, against Triton's interpreter.

SPDX-License-Identifier: Apache-2.0
"""
import os
import pathlib
import subprocess
import sys
from typing import NamedTuple

import pytest
import tessera
import tessera.language as tl
import torch
from repository import ROOT

PROGRAM = pathlib.Path(__file__).with_name("tuple_launches.py")


class Pair(NamedTuple):
    ptr: tl.tensor
    n: tl.tensor


@tessera.jit
def fill(p, value: tl.constexpr):
    tl.store(p.ptr + tl.arange(0, 16), p.n + value)


@tessera.jit
def call(OUT, F: tl.constexpr):
    tl.store(OUT, F(3.0))


@tessera.jit
def call_it(OUT, F):
    tl.store(OUT, F(3.0))


@tessera.jit
def triple(x):
    return 3 * x


def saved(by, folder, **variables):
    path = folder / f"{by}.pt"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), **variables}
    done = subprocess.run([sys.executable, str(PROGRAM), by, str(path)], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return torch.load(path)


def test_as_under_triton(tmp_path):
    want, got = saved("triton", tmp_path), saved("tessera", tmp_path)
    assert got.keys() == want.keys() and len(want) > 30
    for name in want:
        assert want[name].abs().sum() > 0, name
        assert torch.allclose(got[name], want[name], rtol=1e-6, atol=1e-6), name


def test_recorded_launches_are_replayed(tmp_path):
    saved("tessera", tmp_path, TESSERA_RECORD=str(tmp_path / "cases"), TESSERA_RECORD_LIMIT="50")
    replayed = subprocess.run([os.environ["PROGRAM"], "replay", str(tmp_path / "cases")], capture_output=True, text=True)
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr
    count = len(list((tmp_path / "cases").iterdir()))
    assert count > 25 and f"{count} cases: {count} ok" in replayed.stdout, replayed.stdout


def compiled_count():
    return torch.ops.tessera.kernel_stats()[0] + torch.ops.tessera.kernel_stats()[1]


def test_leaves_decide_the_code():
    """One code for equal classes of the values in a tuple, another one where a class differs."""
    x = torch.zeros(32, dtype=torch.int32)
    fill[(1,)](Pair(x, 3), 1)
    first = compiled_count()
    fill[(1,)](Pair(x, 5), 1)
    assert compiled_count() == first and x[:16].tolist() == [6] * 16
    for pair in (Pair(x, 16), Pair(x, 1), Pair(x[1:], 3), Pair(x, 1 << 40), Pair(x, 2.0), Pair(x, True)):
        fill[(1,)](pair, 1)
        assert compiled_count() == first + 1, pair
        first = compiled_count()
        fill[(1,)](pair, 1)
        assert compiled_count() == first, pair
        assert (pair.ptr[:16] == int(pair.n % 2**31) % 2**31 + 1).all() or pair.n > 2**31


def test_functions_of_one_name_are_two():
    def make(by):
        @tessera.jit
        def scaled(x):
            return by * x
        return scaled

    out = torch.zeros(1)
    two, five = make(2.0), make(5.0)
    for function, value in ((two, 6.0), (five, 15.0), (two, 6.0), (triple, 9.0)):
        call[(1,)](out, function)
        assert out.item() == value
        call_it[(1,)](out, function)
        assert out.item() == value


def test_a_warmup_takes_types_in_tuples():
    compiled = fill.warmup(Pair(torch.int32, 3), 1, grid=(1,))
    assert compiled.name == "fill"


@pytest.mark.parametrize("launch, message", (
    (lambda x: fill[(1,)](x, 1), "has no attribute `ptr`"),
    (lambda x: fill[(1,)]((x, 3), 1), "a tuple has no attributes; index it"),
    (lambda x: fill[(1,)](Pair(x, "three"), 1), "`p.n`, a value of a tuple, is 'three'"),
    (lambda x: fill[(1,)](Pair([x], 3), 1), "`p.ptr`, a value of a tuple, is "),
    (lambda x: fill[(1,)](Pair(x, lambda y: y), 1), "`p.n`, a value of a tuple, is <function"),
    (lambda x: fill[(1,)](Pair(None, 3), 1), "None"),
    (lambda x: call[(1,)](x, lambda y: y), "constexpr `F` is a lambda"),
    (lambda x: call_it[(1,)](x, lambda y: y), "such a value is a constexpr"),
    (lambda x: call[(1,)](x, object()), "constexpr `F` is <object"),
    (lambda x: fill[(1,)](Pair(x, (1,) * 300), 1), "more than 256 values"),
))
def test_errors(launch, message):
    with pytest.raises((TypeError, ValueError, RuntimeError)) as caught:
        launch(torch.zeros(16))
    assert message in str(caught.value), str(caught.value)
    assert "HINT" in str(caught.value) or ";" in str(caught.value)


@tessera.jit
def fill_known(OUT, p, value: tl.constexpr):
    tl.store(OUT + tl.arange(0, p[0]), p[1] + value)


def test_wrapped_constants_are_their_values():
    """Two launches that differ by a wrapped constant are two kernels."""
    for size, more, value in ((16, 1, 2), (8, 1, 2), (8, 5, 2), (8, 5, 7)):
        out = torch.zeros(16, dtype=torch.int32)
        fill_known[(1,)](out, (tl.constexpr(size), tl.constexpr(more)), tl.constexpr(value))
        assert out.tolist() == [more + value] * size + [0] * (16 - size)
