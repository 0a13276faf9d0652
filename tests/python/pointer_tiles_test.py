# tests/python/pointer_tiles_test.py - accesses through tiles of row pointers (pointer_tiles.py), against numpy.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""LIBTESSERA_TORCH names the library of the ops, TESSERA_DEVICE the device."""
import os
import pathlib

import numpy as np
import pytest
import torch

torch.ops.load_library(os.environ["LIBTESSERA_TORCH"])
FILE = str(pathlib.Path(__file__).resolve().parent / "pointer_tiles.py")
ROWS = 24  # of A, as of B; a row of B is row ROWS + r of both
FLAG, TIMES = 1, 3
STEPS = [(r * 5 + 2) % 4 for r in range(ROWS)]
ALL = [torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int8, torch.int16, torch.int32, torch.int64,
       torch.uint8, torch.bool]


def of_b(row):
    return ROWS + row


def odd(r):
    return STEPS[r] % 2 == 1


def swapped(r, times):
    """The first of two pointers after they swap `times` times; the former first pointer moves by a row each time."""
    p, q = r, of_b(r)
    for _ in range(times):
        p, q = q, p + 1
    return p


def address(r):
    """The row whose address ADDRESSES holds at index r."""
    return of_b(7 * r % 16) if r % 3 == 1 else 5 * r % 16


# HOW -> the row that row r of M points to; n is TIMES.
WAYS = {
    "plain": lambda r, M, n: r,
    "where": lambda r, M, n: r if odd(r) else of_b(r),
    "where_of_range": lambda r, M, n: r if r > M // 2 else of_b(r),
    "where_of_scalar": lambda r, M, n: r,
    "if": lambda r, M, n: r,
    "if_moves": lambda r, M, n: r + STEPS[r],
    "for": lambda r, M, n: r + n,
    "for_by_rows": lambda r, M, n: r + n * STEPS[r],
    "for_where": lambda r, M, n: r + n * (1 if r > 2 else 2),
    "for_swaps": lambda r, M, n: swapped(r, n),
    "for_in_for": lambda r, M, n: r + sum(range(n)) + n * odd(r),
    "while": lambda r, M, n: r + n,
    "while_swaps": lambda r, M, n: swapped(r, n),
    "while_in_for": lambda r, M, n: r + sum(range(n)),
    "address": lambda r, M, n: address(r),
    "address_mask": lambda r, M, n: address(r),
    "address_carried": lambda r, M, n: address(r) + n,
    "integers": lambda r, M, n: r,
    "integers_where": lambda r, M, n: r if odd(r) else of_b(r),
    "bytes": lambda r, M, n: r,
    "bytes_where": lambda r, M, n: 1 + (r if odd(r) else of_b(r)),
    "helper": lambda r, M, n: r if odd(r) else of_b(r),
    "helper_branch": lambda r, M, n: r,
    "tuple": lambda r, M, n: r if odd(r) else of_b(r),
    "reshape": lambda r, M, n: r if odd(r) else of_b(r),
    "reshape_square": lambda r, M, n: r // 2 + r % 2 * (M // 2),
    "trans": lambda r, M, n: r % (M // 2) * 2 + r // (M // 2),
    "trans_where": lambda r, M, n: (r % (M // 2) * 2 + r // (M // 2)) + (0 if r % (M // 2) > 0 else ROWS),
    "join": lambda r, M, n: of_b(r // 2) if r % 2 else r // 2,
    "interleave": lambda r, M, n: of_b(r // 2) if r % 2 and r // 2 <= 1 else r // 2,
    "split": lambda r, M, n: r if odd(r) else of_b(r),
    "broadcast": lambda r, M, n: r if odd(r) else of_b(r),
    "one": lambda r, M, n: 0,
    "scalar_where": lambda r, M, n: r,
    "scalar_if": lambda r, M, n: r,
    "scalar_for": lambda r, M, n: r + n,
    "scalar_while": lambda r, M, n: swapped(r, n),
    "scalar_address": lambda r, M, n: address(0) + r,
    "minus": lambda r, M, n: 1 + (r if odd(r) else of_b(r)),
}
PAIRED = {"reshape_square", "trans", "trans_where", "join", "interleave"}  # need two rows
REPEATED = {"one"}  # several rows are one
# Of each kind of way one: for the tests that take a type, a shape or an access as well.
FEW = ["where", "if", "for_by_rows", "while", "address", "integers", "bytes_where", "join", "scalar_address"]


class Case:
    """The memory of one launch: 2 * ROWS rows of N elements, A its first half, B its second."""

    def __init__(self, way, shape, dtype):
        self.way, self.dtype, (self.m, self.n) = way, dtype, shape
        self.rng = np.random.default_rng([len(way), self.m, self.n, sum(map(ord, str(dtype)))])
        self.memory = self.values((2 * ROWS, self.n))
        self.before = self.memory.clone()
        a, b = self.memory[:ROWS], self.memory[ROWS:]
        self.rows = [WAYS[way](r, self.m, TIMES) for r in range(self.m)]
        addresses = torch.tensor([self.memory[address(r)].data_ptr() for r in range(self.m)])
        self.inputs = [a, b, addresses, torch.tensor(STEPS, dtype=torch.int32)]

    def values(self, shape):
        """Small integers, which every type holds."""
        if self.dtype == torch.bool:
            return torch.from_numpy(self.rng.integers(0, 2, shape).astype(bool))
        return torch.from_numpy(self.rng.integers(0, 50, shape)).to(self.dtype)

    def launch(self, kernel, tensors, **more):
        size = self.memory.element_size()
        constants = dict(HOW=f'"{self.way}"', M=self.m, N=self.n, SIZE=size, **{k: f'"{v}"' for k, v in more.items()})
        torch.ops.tessera.launch(FILE, kernel, self.inputs + tensors, [FLAG, TIMES], [1],
                                 ", ".join(f"{name}={value}" for name, value in constants.items()))

    def pointed_to(self):
        """numpy's copy of the rows, [M, N]."""
        return numbers(self.before)[self.rows]


def numbers(tensor):
    return (tensor.to(torch.float64) if tensor.dtype.is_floating_point else tensor.to(torch.int64)).numpy()


def same(got, want, what):
    got, want = numbers(got), np.asarray(want)
    if not np.array_equal(got, want):
        wrong = np.argwhere(got != want)
        at = tuple(wrong[0])
        pytest.fail(f"{what}: {len(wrong)} of {want.size} differ; {at} is {got[at]}, not {want[at]}")


def load(way, shape, dtype):
    case = Case(way, shape, dtype)
    m, n = shape
    columns = case.rng.permutation(n)
    o, p = torch.zeros((8, m, n), dtype=dtype), torch.zeros((2, m), dtype=dtype)
    case.launch("loads", [torch.tensor(columns, dtype=torch.int32), o, p])
    x, r, c = case.pointed_to(), np.arange(m)[:, None], np.arange(n)[None, :]
    name = f"{way} {shape} {dtype}"
    for i, want in enumerate([x, np.where(c < TIMES, x, 1), np.where(r < TIMES, x, 1),
                              np.where((r + c) % 2 == 0, x, 0), x[:, columns], x, x[:, ::-1], x]):
        same(o[i], want, f"{name} load {i}")
    same(p[0], x[:, 0], name + " first elements")
    same(p[1], np.where(r[:, 0] % 2 == 0, x[:, -1], 1), name + " last elements")


def test_loads():
    for way in WAYS:
        load(way, (8, 32), torch.float32)


def test_loads_of_every_type():
    for way in FEW:
        for dtype in ALL:
            load(way, (8, 16), dtype)


def test_loads_of_narrow_tiles():
    for way in WAYS:
        load(way, (16, 1), torch.float32)
    for way in FEW:
        for shape in [(1, 32), (1, 1), (2, 4), (4, 8)]:
            if shape[0] > 1 or way not in PAIRED:
                load(way, shape, torch.float32)


def test_reductions_and_dots():
    for way in FEW:
        for dtype in [torch.float32, torch.float16, torch.bfloat16]:
            case = Case(way, (16, 32), dtype)
            w = case.values((32, 16))
            o, d = torch.zeros(64), torch.zeros((2, 16, 16))
            case.launch("sums", [w, o, d])
            x, name = case.pointed_to(), f"{way} {dtype}"
            same(o, np.concatenate([x.sum(1), x.max(1), x.sum(0)]), name + " sums")
            product = x @ numbers(w)
            same(d[0], product, name + " left operand")
            same(d[1], product.T, name + " right operand")


def store(way, shape, dtype, hold):
    case = Case(way, shape, dtype)
    m, n = shape
    x = case.values(shape)
    case.launch("stores", [x], HOLD=hold)
    r, c = np.arange(m)[:, None], np.arange(n)[None, :]
    on = {"all": True, "columns": c < TIMES, "rows": r < TIMES, "some": (r + c) % 2 == 0, "transposed": True,
          "first": c == 0, "branch": True}[hold]
    want = numbers(case.before).copy()
    want[case.rows] = np.where(on, numbers(x), want[case.rows])
    same(case.memory, want, f"{way} {shape} {dtype} store {hold}")


def test_stores():
    for way in WAYS:
        if way not in REPEATED and len(set(WAYS[way](r, 8, TIMES) for r in range(8))) == 8:
            for hold in ["all", "some"]:
                store(way, (8, 32), torch.float32, hold)


def test_stores_with_every_mask():
    for way in ["where", "while", "address", "bytes_where"]:
        for hold in ["all", "columns", "rows", "some", "transposed", "first", "branch"]:
            for shape in [(8, 16), (8, 1), (1, 16), (1, 1)]:
                store(way, shape, torch.float32, hold)


def test_stores_of_every_type():
    for way in ["where", "while", "address"]:
        for dtype in ALL:
            store(way, (8, 16), dtype, "all")


def test_atomics():
    for way in [w for w in FEW if w != "for_by_rows"] + ["for_swaps", "helper_branch"]:
        for dtype, names in [(torch.int32, ["add", "add_mask", "max", "xchg", "cas", "unused"]),
                             (torch.float32, ["add", "max", "unused"]), (torch.float16, ["add"]),
                             (torch.int64, ["add", "cas"])]:
            for name in names:
                atomic(way, dtype, name)


def atomic(way, dtype, name):
    case = Case(way, (8, 16), dtype)
    assert len(set(case.rows)) == 8
    x, o = case.values((8, 16)), torch.zeros((8, 16), dtype=dtype)
    case.launch("atomics", [x, o], OP=name)
    old, new = case.pointed_to(), numbers(x)
    on = np.arange(16)[None, :] < TIMES if name == "add_mask" else True
    result = {"max": np.maximum(old, new), "xchg": new, "cas": new}.get(name, old + new)
    want = numbers(case.before).copy()
    want[case.rows] = np.where(on, result, old)
    same(case.memory, want, f"{way} {dtype} {name}")
    if name == "unused":
        same(o, new, f"{way} {dtype} {name}")
    elif name == "add_mask":
        same(o[:, :TIMES], old[:, :TIMES], f"{way} {dtype} {name} before")
    else:
        same(o, old, f"{way} {dtype} {name} before")


def test_null_pointers():
    for kernel in ["reads_null", "writes_null"]:
        for n in [1, 16]:
            o = torch.zeros(n)
            torch.ops.tessera.launch(FILE, kernel, [o], [0], [1], f"N={n}")
            same(o, np.full(n, 3), kernel)
            with pytest.raises(RuntimeError, match=kernel):
                torch.ops.tessera.launch(FILE, kernel, [o], [n], [1], f"N={n}")
