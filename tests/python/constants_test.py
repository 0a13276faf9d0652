"""tests/python/constants_test.py - dicts and sets as constants of kernels of tessera.jit.

SPDX-License-Identifier: Apache-2.0
"""
import dataclasses

import pytest
import tessera
import tessera.language as tl
import torch

SCALES = {"half": 0.5, "double": 2.0, 3: "double"}
NESTED = ({"sizes": [16, {"last": 32}]}, {tl.float32: (1, 2)})
WIDTHS = {64, 16, 32}


@dataclasses.dataclass(frozen=True)
class Settings:
    size: int


SETTINGS = Settings(4)
MIXED = {"settings": SETTINGS}


@tessera.constexpr_function
def scale_of(name):
    return SCALES[SCALES[name]] if name in (3, 4) else SCALES[name]


@tessera.jit
def scaled(OUT, NAME: tl.constexpr):
    tl.store(OUT, scale_of(NAME))


@tessera.constexpr_function
def nested_sum():
    return NESTED[0]["sizes"][0] + NESTED[0]["sizes"][1]["last"] + NESTED[1][tl.float32][1]


@tessera.jit
def nested(OUT):
    tl.store(OUT, nested_sum())


@tessera.jit
def in_set(OUT, N: tl.constexpr):
    tl.store(OUT, N in WIDTHS)
    tl.store(OUT + 1, len(WIDTHS))


@tessera.jit
def of_object(OUT, WHICH: tl.constexpr):
    if WHICH == 0:
        tl.store(OUT, SETTINGS.size)
    elif WHICH == 1:
        tl.store(OUT, SETTINGS)
    elif WHICH == 2:
        tl.store(OUT, MIXED)
    elif WHICH == 3:
        tl.store(OUT, Settings)
    elif WHICH == 4:
        tl.store(OUT, SCALES)
    else:
        tl.store(OUT, MIXED["settings"])


@tl.constexpr
def total_type(dtype: tl.dtype) -> tl.dtype:
    if dtype.is_int():
        return tl.int64
    return tl.float32 if dtype.is_fp16() else dtype


@tl.constexpr
@tessera.constexpr_function
def twice(n):
    return 2 * n


@tessera.jit
def total(X, OUT, N: tl.constexpr):
    kind: tl.constexpr = total_type(X.dtype.element_ty)
    tl.store(OUT, tl.sum(tl.load(X + tl.arange(0, N)).to(kind)))
    tl.store(OUT + 1, tl.arange(0, twice(N // 2)).to(kind).numel)
    tl.store(OUT + 2, kind.primitive_bitwidth)


def test_functions_under_constexpr():
    for dtype, bits in ((torch.int8, 64), (torch.float16, 32), (torch.float64, 64)):
        out = torch.zeros(3, dtype=torch.float64)
        total[(1,)](torch.full((4,), 100).to(dtype), out, 4)
        assert out.tolist() == [400, 4, bits]
    assert twice(3) == 6


def test_a_dict():
    out = torch.zeros(1)
    for name, wanted in (("half", 0.5), ("double", 2.0), (3, 2.0)):
        scaled[(1,)](out, name)
        assert out.item() == wanted


def test_dicts_in_tuples_and_lists():
    out = torch.zeros(1)
    nested[(1,)](out)
    assert out.item() == 16 + 32 + 2


def test_a_set():
    out = torch.zeros(2, dtype=torch.int32)
    in_set[(1,)](out, 16)
    assert out.tolist() == [1, 3]
    in_set[(1,)](out, 17)
    assert out.tolist() == [0, 3]


def test_objects():
    """An attribute of a frozen dataclass is a constant; the object and a dict that holds it are errors that say what they are."""
    out = torch.zeros(1, dtype=torch.int32)
    of_object[(1,)](out, 0)
    assert out.item() == 4
    for which, message in ((1, "`SETTINGS` has the type `Settings` and no value that kernels know"),
                           (2, "`MIXED` has the type `dict` and no value that kernels know"),
                           (3, "the class `Settings` is code around kernels"),
                           (4, "a dict of 3"),
                           (5, "`MIXED` has the type `dict` and no value that kernels know")):
        with pytest.raises(RuntimeError, match=message) as caught:
            of_object[(1,)](out, which)
        assert "constants_test.py:" in str(caught.value)


def test_constants_that_change_in_place():
    out = torch.zeros(2)
    scaled[(1,)](out, "half")
    nested[(1,)](out)
    in_set[(1,)](out, 16)
    for launch, change, undo, name in (
            (lambda: scaled[(1,)](out, "half"), lambda: SCALES.update(half=0.25), lambda: SCALES.update(half=0.5), "SCALES"),
            (lambda: nested[(1,)](out), lambda: NESTED[0]["sizes"][1].update(last=4), lambda: NESTED[0]["sizes"][1].update(last=32), "NESTED"),
            (lambda: in_set[(1,)](out, 16), lambda: WIDTHS.add(8), lambda: WIDTHS.remove(8), "WIDTHS")):
        change()
        with pytest.raises(RuntimeError, match=f"the constant `{name}` was"):
            launch()
        undo()
        launch()


def test_a_dict_is_not_an_argument():
    with pytest.raises(TypeError, match="constexpr `NAME` is {'a': 1}"):
        scaled[(1,)](torch.zeros(1), {"a": 1})
