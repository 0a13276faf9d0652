# tests/package/alias_test.py - one tensor as two arguments of a launch: the result of program order, or an error before anything runs.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import os

import pytest
import torch

import tessera
import tessera.language as tl

N = 16


@tessera.jit
def chain(X, Y, W, n, N: tl.constexpr):
    """Each round adds one to Y, which the next round multiplies by W through X where the two are one tensor."""
    i = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    acc = tl.zeros((N, N), tl.float32)
    for _ in range(0, n):
        a = tl.load(X + i)
        acc = tl.dot(a, tl.load(W + i), acc)
        tl.store(Y + i, (a + 1).to(X.dtype.element_ty))
    tl.store(Y + N * N + i, acc.to(X.dtype.element_ty))


@tessera.jit
def chain_in_order(X, Y, W, n, N: tl.constexpr):
    """chain with the author's barrier between a store and the next load."""
    i = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    acc = tl.zeros((N, N), tl.float32)
    for _ in range(0, n):
        a = tl.load(X + i)
        acc = tl.dot(a, tl.load(W + i), acc)
        tl.store(Y + i, (a + 1).to(X.dtype.element_ty))
        tl.debug_barrier()
    tl.store(Y + N * N + i, acc.to(X.dtype.element_ty))


@tessera.jit
def twice(X, Y, W, OUT, N: tl.constexpr):
    """Loads X, which two dots read, stores Y, and multiplies: no loop."""
    i = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    a = tl.load(X + i)
    tl.store(Y + i, tl.zeros((N, N), X.dtype.element_ty))
    w = tl.load(W + i)
    acc = tl.dot(tl.trans(a), w, tl.dot(a, w))
    tl.store(OUT + i, acc.to(X.dtype.element_ty))


def launch(kernel, x, y, stages):
    kernel[(1,)](x, y, torch.eye(N).half(), 5, N=N, num_stages=stages)


def right(test, kernel, stages):
    x = torch.zeros(2 * N * N, dtype=torch.float16)
    launch(kernel, x, x, stages)
    assert (x[:N * N] == 5).all(), (stages, x[0])
    assert (x[N * N:] == 10).all(), (stages, x[N * N])       # 0 + 1 + 2 + 3 + 4


class OnTheCpu:

    def test_program_order_is_kept(self):
        for stages in (1, 2, 3):
            right(self, chain, stages)
            right(self, chain_in_order, stages)

    def test_a_load_before_a_store(self):
        w, out = torch.eye(N).half(), torch.zeros(N * N, dtype=torch.float16)
        x = torch.arange(N * N).half() / 256
        same = x.clone()
        twice[(1,)](same, same, w, out, N=N)
        assert torch.equal(out, (x.view(N, N) + x.view(N, N).T).flatten())


class OnAGpu:

    def test_loops_that_copy_ahead_refuse_shared_memory(self):
        right(self, chain, 1)
        for stages in (2, 3, 4):
            right(self, chain_in_order, stages)
            x = torch.zeros(2 * N * N, dtype=torch.float16)
            with pytest.raises(Exception, match="`chain` copies `X` ahead of stores to `Y`, and the two arguments share memory"
                                                   "(.|\n)*num_stages=1(.|\n)*tl.debug_barrier"):
                launch(chain, x, x, stages)
            assert not x.any()            # nothing has run

    def test_one_shared_element_is_enough(self):
        for shared in (0, 1):
            storage = torch.zeros(3 * N * N, dtype=torch.float16)
            x, y = storage[:N * N], storage[N * N - shared:]
            if shared:
                with pytest.raises(Exception, match="share memory"):
                    launch(chain, x, y, 3)
            else:
                launch(chain, x, y, 3)           # neighbours
                assert (y[:N * N] == 1).all()

    def test_a_load_before_a_store_is_right_or_refused(self):
        """Where the compiler copies X across the store (tests/lit/gpu/disjoint.mlir), the launch is refused."""
        w, out = torch.eye(N).half(), torch.zeros(N * N, dtype=torch.float16)
        x = torch.arange(N * N).half() / 256
        want = (x.view(N, N) + x.view(N, N).T).flatten()
        twice[(1,)](x.clone(), torch.zeros_like(x), w, out, N=N)
        assert torch.equal(out, want)
        try:
            twice[(1,)](x, x, w, out.zero_(), N=N)
        except RuntimeError as error:
            assert "`twice` copies `X` ahead of stores to `Y`" in str(error)
        else:
            assert torch.equal(out, want)


class TestAliases(OnTheCpu if os.environ.get("TESSERA_DEVICE", "cpu") == "cpu" else OnAGpu):
    pass
