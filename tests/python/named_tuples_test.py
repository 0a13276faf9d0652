"""tests/python/named_tuples_test.py - classes of typing.NamedTuple in the module of tessera.jit kernels.

SPDX-License-Identifier: Apache-2.0
"""
from typing import NamedTuple

import pytest
import tessera
import tessera.language as tl
import torch


class Point(NamedTuple):
    x: tl.tensor
    y: tl.tensor = 3


@tessera.jit
def turned(p):
    return Point(p.y, p.x)


@tessera.jit
def with_default(OUT, n):
    p = Point(n)
    q = turned(p)
    tl.store(OUT, p.x * p.y)
    tl.store(OUT + 1, q.x - q.y)


class WithObject(NamedTuple):
    x: tl.tensor
    y: object = object()


@tessera.jit
def object_default(OUT, n):
    tl.store(OUT, WithObject(n).x)


def kernel_of():
    class Point(NamedTuple):
        a: tl.tensor
        b: tl.tensor

    @tessera.jit
    def own_class(OUT, n):
        p = Point(b=n, a=n + 1)
        tl.store(OUT, p.a * 10 + p.b)
    return own_class


def test_fields_and_defaults():
    out = torch.zeros(2, dtype=torch.int32)
    with_default[(1,)](out, 5)
    assert out.tolist() == [15, -2]


def test_a_class_of_a_function():
    out = torch.zeros(1, dtype=torch.int32)
    kernel_of()[(1,)](out, 4)
    assert out.tolist() == [54]


def test_a_default_that_the_language_does_not_have():
    with pytest.raises(RuntimeError, match="WithObject"):
        object_default[(1,)](torch.zeros(1, dtype=torch.int32), 1)
