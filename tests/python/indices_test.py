# tests/python/indices_test.py - loads and stores whose indices are consecutive in some vectors and not in others.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Against numpy's indexing. On the CPU, one load or store replaces the gather or scatter of a vector whose indices are consecutive."""
import re

import numpy as np
import pytest
import tessera
import tessera.language as tl
import torch
from run_tessera import tessera as program

N = 128


@tessera.jit
def load_at(X, INDEX, OUT, n, first: tl.constexpr, N: tl.constexpr):
    """OUT[i] = X[INDEX[i]] where INDEX[i] is from `first` up to n."""
    i = tl.arange(0, N)
    at = tl.load(INDEX + i)
    tl.store(OUT + i, tl.load(X + at, mask=(at >= first) & (at < n), other=-1))


@tessera.jit
def store_at(X, INDEX, OUT, n, N: tl.constexpr):
    i = tl.arange(0, N)
    at = tl.load(INDEX + i)
    tl.store(OUT + at, tl.load(X + i), mask=at < n)


@tessera.jit
def wrapped_columns(X, OUT, n, first, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Columns modulo n, as the usual matmul reads them, and rows below a last one."""
    row, column = tl.minimum(tl.arange(0, ROWS), 4), (first + tl.arange(0, COLUMNS)) % n
    at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    tl.store(OUT + at, tl.load(X + row[:, None] * n + column[None, :]))


@tessera.jit
def load_far(X, INDEX, OUT, N: tl.constexpr):
    """X[2^31 + INDEX[i]], with a sum in 64 bits of a 32-bit index."""
    i = tl.arange(0, N)
    tl.store(OUT + i, tl.load((X + 2147483648) + tl.load(INDEX + i)))


def runs(dtype=torch.int32):
    """Indices of vectors of 16 that rise by one, fall, repeat, leave one out at each position, or only begin and end like a run."""
    rise = np.arange(16)
    rows = [rise + 40, rise[::-1] + 3, rise * 0 + 7, rise * 2]
    for at in range(1, 16):
        rows += [rise + (rise >= at), rise - (rise >= at)]
    middle = rise.copy()
    middle[[5, 6]] = middle[[6, 5]]
    rows.append(middle)
    numbers = np.concatenate(rows + [rise] * 5).astype(np.int64)
    return torch.from_numpy(numbers % N).to(dtype)


@pytest.mark.parametrize("dtype", (torch.int8, torch.int32, torch.int64), ids=str)
@pytest.mark.parametrize("element", (torch.int8, torch.bfloat16, torch.float32, torch.int64), ids=str)
def test_loads_at_indices(dtype, element):
    index = runs(dtype)
    x = torch.arange(N).to(element)
    for n, first in ((N, 0), (20, 0), (50, 3), (0, 0)):
        out = torch.zeros(len(index), dtype=element)
        for start in range(0, len(index) - N + 1, 16):
            part = index[start:start + N].contiguous()
            got = out[:N].clone()
            load_at[(1,)](x, part, got, n, first=first, N=N)
            part = part.long()
            seen = (part >= first) & (part < n)
            assert torch.equal(got, torch.where(seen, x[part], torch.tensor(-1, dtype=element))), (start, n)


def test_stores_at_indices():
    rise = np.arange(16)
    for shift in range(1, 17):
        # Each index once: a store to one element twice has no defined result.
        pieces = [rise, np.roll(rise, shift) + 16, rise[::-1] + 32, rise + 48, np.roll(rise, -shift) + 64]
        index = torch.from_numpy(np.concatenate(pieces + [rise + 80, rise + 96, rise + 112])).to(torch.int32)
        x = torch.arange(N, dtype=torch.float32) + 1
        for n in (N, 70, 1):
            out, expected = torch.zeros(N), torch.zeros(N)
            store_at[(1,)](x, index, out, n, N=N)
            seen = index < n
            expected[index[seen].long()] = x[seen]
            assert torch.equal(out, expected), (shift, n)


@pytest.mark.parametrize("n", (1, 7, 16, 48, 63, 64, 100))
def test_columns_modulo_a_size(n):
    x = torch.randn(8, n)
    for first in (0, 1, 16, n - 1, 5 * n):
        out = torch.zeros(8, 64)
        wrapped_columns[(1,)](x, out, n, first, ROWS=8, COLUMNS=64)
        expected = x.numpy()[np.minimum(np.arange(8), 4)][:, (first + np.arange(64)) % n]
        assert np.array_equal(out.numpy(), expected), first


def test_indices_that_wrap_in_a_vector_are_not_a_run(tmp_path):
    """2^31 - 1 is followed by -2^31, which is 4 GiB away."""
    far = np.memmap(tmp_path / "sparse", dtype=np.int8, mode="w+", shape=(2**32,))
    far[:8], far[-8:] = np.arange(8) + 50, np.arange(8) + 20
    index = torch.from_numpy((np.arange(16) + 2**31 - 8).astype(np.uint32).view(np.int32))
    out = torch.zeros(16, dtype=torch.int8)
    load_far[(1,)](torch.from_numpy(far), index, out, N=16)
    assert out.tolist() == [*range(20, 28), *range(50, 58)]


COLUMNS = """
import triton
import triton.language as tl


@triton.jit
def columns(X, OUT, n):
    i = tl.arange(0, 64)
    tl.store(OUT + i, tl.load(X + (i + 3) % n))
"""


def test_a_gather_is_the_other_branch_of_a_load(tmp_path):
    (tmp_path / "columns.py").write_text(COLUMNS)
    done = program("compile", tmp_path / "columns.py", "-k", "columns", "-s", "*fp32, *fp32, i32", "--emit", "loops", "-o", tmp_path)
    assert done.returncode == 0, done.stdout
    text = (tmp_path / "columns.loops.mlir").read_text()
    assert text.count("masked.gather") == 1
    assert re.search(r"scf\.if .*llvm\.load .*\} else \{.*masked\.gather", text, re.S), text
