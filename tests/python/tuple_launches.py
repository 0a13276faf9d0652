"""tests/python/tuple_launches.py triton|tessera FILE - launches with tuples and functions as arguments, and saves what they store.

The launches are the same under Triton's interpreter and under tessera; tuples_test.py compares the two files.
SPDX-License-Identifier: Apache-2.0
"""
import os
import sys
from typing import NamedTuple

if __name__ == "__main__" and sys.argv[1] == "tessera":
    import tessera.triton
    tessera.triton.install()
else:
    os.environ["TRITON_INTERPRET"] = "1"

import torch
import triton
import triton.language as tl

N = 64


class Rows(NamedTuple):
    ptr: tl.tensor
    row: tl.tensor
    column: tl.tensor = 1


class Operands(NamedTuple):
    x: tl.tensor
    y: tl.tensor
    scale: tl.tensor


class Change(NamedTuple):
    apply: tl.tensor
    times: tl.tensor


class Sizes(NamedTuple):
    M: int
    N: int


@triton.jit
def load(rows, i, j):
    return tl.load(rows.ptr + i[:, None] * rows.row + j[None, :] * rows.column)


@triton.jit
def store(rows, i, j, value):
    tl.store(rows.ptr + i[:, None] * rows.row + j[None, :] * rows.column, value)


@triton.jit
def double(x):
    return x * 2


@triton.jit
def triple(x):
    return x * 3


@triton.jit
def plus(x, y):
    return x + y


@triton.jit
def named(x: Rows, out: Rows, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M), tl.arange(0, N)
    store(out, i, j, load(x, i, j) + len(x))


@triton.jit
def unannotated(x, out, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M), tl.arange(0, N)
    value = load(x, i, j)
    store(out, i, j, value - x.row + x[2])


@triton.jit
def plain(pointers, values):
    for i in tl.static_range(len(values)):
        tl.store(pointers[i], values[i])


@triton.jit
def nested(operands, out):
    at = tl.arange(0, 64)
    x = tl.load(operands.x[0] + at * operands.x[1])
    y = tl.load(operands.y.ptr + at * operands.y.row)
    tl.store(out[0][0] + at, x * operands.scale[0] + y + operands.scale[1])


@triton.jit
def optional(data, out, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(data[0] + at)
    if data[1] is not None:
        x += tl.load(data[1] + at)
    if data[2][0] is None:
        x += 100
    tl.store(out + at, x)


@triton.jit
def by_function(X, OUT, F: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(OUT + at, F(tl.load(X + at)))


@triton.jit
def by_functions(X, OUT, change, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(OUT + at, change.apply(tl.load(X + at)) * change.times)


@triton.jit
def by_pair(X, OUT, functions, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(OUT + at, functions[1](functions[0](tl.load(X + at)), 3.0))


@triton.jit
def known(X, OUT, sizes, N: tl.constexpr):
    at = tl.arange(0, sizes.M)
    tl.store(OUT + at, tl.load(X + at) * sizes.N)


@triton.jit
def all_known(X, OUT, S: tl.constexpr, MORE: tl.constexpr):
    at = tl.arange(0, S.M)
    tl.store(OUT + at, tl.load(X + at) * S.N + MORE[1])


@triton.jit
def kinds(out, values):
    tl.store(out, values[0] + 1)
    tl.store(out + 1, values[1] + 0.5)
    tl.store(out + 2, tl.where(values[2] > 0, 7, 8))
    tl.store(out + 3, values[3] % 1000)


def results():
    generator = torch.Generator().manual_seed(1)
    random = lambda *shape: torch.randn(shape, generator=generator)
    found = {}

    def keep(name, *tensors):
        for number, tensor in enumerate(tensors):
            found[f"{name}.{number}"] = tensor.clone()

    for name, x in (("rows", random(16, N)), ("columns", random(N, 16).T), ("narrow", random(16, 3 * N)[:, 1::3])):
        out = torch.zeros(16, N)
        named[(1,)](Rows(x, *x.stride()), Rows(out, N, 1), M=16, N=N)
        keep(f"named {name}", out)
        out = torch.zeros(16, N)
        unannotated[(1,)](Rows(x, *x.stride()), Rows(out, *out.stride()), 16, N)
        keep(f"unannotated {name}", out)
    x = random(16, N)
    out = torch.zeros(16, N)
    named[(1,)](x=Rows(x, N), out=Rows(out, N), M=16, N=N)
    keep("defaults", out)
    outs = [torch.zeros(1), torch.zeros(1, dtype=torch.int32), torch.zeros(1, dtype=torch.int64)]
    plain[(1,)](tuple(outs), (1.5, 1, 1 << 40))
    keep("plain", *outs)
    plain[(1,)]((outs[1],), (16,))
    keep("shorter", *outs)
    plain[(1,)]((), ())
    x, y, out = random(N), random(2 * N), torch.zeros(N)
    nested[(1,)](Operands((x, 1), Rows(y, 2), (0.5, 3)), ((out,),))
    keep("nested", out)
    nested[(1,)](Operands((y, 2), Rows(x, 1, None), (2, 1)), ((out,), None))
    keep("nested again", out)
    for name, data in (("all", (x, y, (1,))), ("none", (x, None, (None,))), ("half", (x, y, (None,)))):
        optional[(1,)](data, out, N)
        keep(f"optional {name}", out)
    for name, function in (("double", double), ("triple", triple), ("double again", double)):
        by_function[(1,)](x, out, function, N)
        keep(f"function {name}", out)
        by_functions[(1,)](x, out, Change(function, 5), N)
        keep(f"field {name}", out)
        by_functions[(1,)](x, out, Change(function, 1), N)
        keep(f"field and one {name}", out)
    by_pair[(1,)](x, out, (double, plus), N)
    keep("pair", out)
    known[(1,)](x, out, Sizes(tl.constexpr(N), 3), N)
    keep("known", out)
    known[(1,)](x, out, Sizes(tl.constexpr(N // 2), tl.constexpr(4)), N)
    keep("all known", out)
    all_known[(1,)](x, out, Sizes(N, 3), (1, 2))
    keep("constexpr", out)
    numbers = torch.zeros(4, dtype=torch.float64)
    for name, values in (("small", (4, 1.5, 5, 16)), ("ones", (1, 1.0, 0, 1)), ("large", (-3, 2.25, -16, (1 << 40) + 16))):
        kinds[(1,)](numbers, values)
        keep(f"kinds {name}", numbers)
    return found


if __name__ == "__main__":
    torch.save(results(), sys.argv[2])
