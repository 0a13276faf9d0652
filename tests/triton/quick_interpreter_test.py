# tests/triton/quick_interpreter_test.py - the changed interpreter folds as Triton's does, bit for bit, and a product of a row is the same at any
# position.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import pytest
import torch
import triton
import triton.language as tl

import interpreter_launcher  # noqa: F401  sets TRITON_INTERPRET and makes the interpreter quick
import quick_interpreter


@triton.jit
def later(scale, shift, next_scale, next_shift):
    """x -> x * scale + shift, and then the next; the order matters."""
    return scale * next_scale, shift * next_scale + next_shift


@triton.jit
def nearer(value, index, other, other_index):
    keep = (value < other) | ((value == other) & (index < other_index))
    return tl.where(keep, value, other), tl.where(keep, index, other_index)


@triton.jit
def fold(A, B, O, P, X: tl.constexpr, Y: tl.constexpr, Z: tl.constexpr, AXIS: tl.constexpr, KIND: tl.constexpr, REVERSE: tl.constexpr):
    at = tl.arange(0, X)[:, None, None] * Y * Z + tl.arange(0, Y)[None, :, None] * Z + tl.arange(0, Z)[None, None, :]
    a, b = tl.load(A + at), tl.load(B + at)
    if KIND == 0:
        o, p = tl.reduce((a, b), AXIS, later, keep_dims=True)
        o, p = tl.broadcast_to(o, (X, Y, Z)), tl.broadcast_to(p, (X, Y, Z))
    if KIND == 1:
        o, p = tl.reduce((a, at), AXIS, nearer)
        o, p = tl.broadcast_to(tl.expand_dims(o, AXIS), (X, Y, Z)), tl.broadcast_to(tl.expand_dims(p, AXIS), (X, Y, Z))
    if KIND == 2:
        o, p = tl.associative_scan((a, b), AXIS, later, reverse=REVERSE)
    tl.store(O + at, o)
    tl.store(P + at, p)


def run(**settings):
    generator = torch.Generator().manual_seed(3)
    a, b = (torch.randn(4, 8, 2, generator=generator) for _ in range(2))
    a[1, 2:4] = 0.5  # equal values: the first index wins
    o, p = torch.full_like(a, float("nan")), torch.full_like(a, float("nan"))
    fold[(1,)](a, b, o, p, X=4, Y=8, Z=2, **settings)
    return o, p


CASES = [dict(AXIS=axis, KIND=kind, REVERSE=reverse) for axis in (0, 1, 2) for kind, reverse in ((0, False), (1, False), (2, False), (2, True))]


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(str(int(value)) for value in case.values()))
def test_equals_the_stock_interpreter(case, monkeypatch):
    quick = run(**case)
    for owner, name, function in quick_interpreter.stock:
        monkeypatch.setattr(owner, name, function)
    for got, want in zip(quick, run(**case)):
        assert not got.isnan().any() and torch.equal(got, want)


def types():
    """What block types and tensors of several shapes and dtypes consist of, and what an invalid shape raises."""
    from triton.runtime import interpreter
    found = []
    for element in (tl.int1, tl.bfloat16, tl.float8e5, tl.int64, tl.pointer_type(tl.float32)):
        for shape in ([1], [8], [1, 8], [8, 1], [4, 2, 16], tl.tuple([4, 8]), [tl.constexpr(8)], [8]):
            block = tl.block_type(element, shape)
            value = tl.core.tensor(None, block)
            found.append((block.name, block.numel, block.element_ty, list(block.shape), [(size.value, size.type) for size in value.shape],
                          value.numel.value, value.type is block, value.dtype, interpreter._get_np_dtype(block)))
        number = tl.core.tensor(None, element)
        found.append((list(number.shape), number.numel.value, number.dtype, interpreter._get_np_dtype(element)))
    for shape, error in (([], TypeError), ([3], ValueError), ([8.0], TypeError), ([2**21], ValueError), ((8,), AssertionError)):
        with pytest.raises(error) as caught:
            tl.block_type(tl.int32, shape)
        found.append(str(caught.value))
    return found


def test_types_equal_the_stock_interpreters(monkeypatch):
    quick = types()
    for owner, name, function in quick_interpreter.stock:
        monkeypatch.setattr(owner, name, function)
    assert quick == types()


@triton.jit
def multiply(A, B, O, M: tl.constexpr, K: tl.constexpr, N: tl.constexpr):
    row, inner, column = tl.arange(0, M), tl.arange(0, K), tl.arange(0, N)
    a = tl.load(A + row[:, None] * K + inner[None, :])
    b = tl.load(B + inner[:, None] * N + column[None, :])
    tl.store(O + row[:, None] * N + column[None, :], tl.dot(a, b))


def test_the_position_of_a_row_does_not_matter():
    """numpy's product fails this on processors whose BLAS has other code for the last rows."""
    generator = torch.Generator().manual_seed(5)
    a, b = torch.randn(32, 16, generator=generator), torch.randn(16, 16, generator=generator)
    for source in range(32):
        together, alike = torch.empty(32, 16), torch.empty(32, 16)
        multiply[(1,)](a, b, together, M=32, K=16, N=16)
        multiply[(1,)](a[source].repeat(32, 1), b, alike, M=32, K=16, N=16)
        assert torch.equal(alike, together[source].repeat(32, 1))
    assert torch.allclose(together.double(), a.double() @ b.double(), rtol=0, atol=1e-5)
