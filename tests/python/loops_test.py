"""tests/python/loops_test.py - loops whose bounds and step are known at run time: as many rounds as counting up gives.

SPDX-License-Identifier: Apache-2.0
"""
import itertools

import tessera
import tessera.language as tl
import torch


@tessera.jit(do_not_specialize=["a", "b", "step"])
def rounds(OUT, a, b, step):
    n = 0
    last = a * 0 - 7
    for i in range(a, b, step):
        n += 1
        last = i
    tl.store(OUT, n)
    tl.store(OUT + 1, last)


@tessera.jit(do_not_specialize=["n"])
def strided(OUT, n):
    total = 0
    for i in range(tl.program_id(0), n, tl.num_programs(0)):
        total += i
    tl.store(OUT + tl.program_id(0), total)


def test_steps():
    top = 2**31 - 1
    for a, b, step in [*itertools.product((0, -5, 10), (0, 10, -3), (1, 3, 100, 0, -1, -7)), (top - 5, top, 2), (top - 5, top, top),
                       (-top, top, top), (top, top - 9, -2), (-top, -top + 3, -top)]:
        out = torch.full((2,), -9, dtype=torch.int32)
        rounds[(1,)](out, a, b, step, num_warps=1)
        all_ = range(a, b, step) if step > 0 else []
        assert out.tolist() == [len(all_), all_[-1] if all_ else -7], (a, b, step)


def test_by_the_number_of_programs():
    out = torch.full((3,), -9, dtype=torch.int32)
    strided[(3,)](out, 11)
    assert out.tolist() == [sum(range(pid, 11, 3)) for pid in range(3)]


@tessera.jit(do_not_specialize=["n"])
def lagging_for(OUT, n, N: tl.constexpr):
    a = tl.arange(0, N)
    before = a
    now = a
    for _i in range(n):
        before = now
        now = now + 1
    tl.store(OUT + a, before)


@tessera.jit(do_not_specialize=["n"])
def lagging_while(OUT, n, N: tl.constexpr):
    a = tl.arange(0, N)
    third = a
    before = third
    now = a
    while n > 0:
        third = before
        before = now
        now = now + 1
        n = n - 1
    tl.store(OUT + a, third)


@tessera.jit(do_not_specialize=["n", "m"])
def lagging_nest(OUT, n, m, N: tl.constexpr):
    a = tl.arange(0, N)
    before = a
    now = a
    for _i in range(n):
        for _j in range(m):
            before = now
            now = now + 1
    tl.store(OUT + a, before)


@tessera.jit
def lag(x):
    before = x
    now = x
    while now < 10:
        before = now
        now = now + 3
    return before


@tessera.jit
def lagging_elements(OUT, N: tl.constexpr):
    a = tl.arange(0, N)
    tl.store(OUT + a, tl.map_elementwise(lag, a))


# Names with one value before a loop, of which the body assigns one to another: the first round changes the last name alone, and the
# others were not carried.
def test_names_with_one_value_before_a_loop():
    a = torch.arange(16, dtype=torch.int32)

    def result(kernel, *arguments):
        out = torch.full((16,), -9, dtype=torch.int32)
        kernel[(1,)](out, *arguments, N=16)
        return out

    for n in range(5):
        assert torch.equal(result(lagging_for, n), a + max(n - 1, 0)), n
        assert torch.equal(result(lagging_while, n), a + max(n - 2, 0)), n
        for m in range(3):
            assert torch.equal(result(lagging_nest, n, m), a + max(n * m - 1, 0)), (n, m)
    wanted = []
    for value in range(16):
        before = value
        while value < 10:
            before, value = value, value + 3
        wanted.append(before)
    assert result(lagging_elements).tolist() == wanted


@tessera.jit(do_not_specialize=["flag", "n"])
def chosen_step(X, OUT, flag, n, N: tl.constexpr):
    """A block that grows by a number which a branch of the body chooses."""
    total = tl.arange(0, N)
    outside = tl.load(X)
    for i in range(n):
        inside = tl.load(X + 1 + i)
        step = outside
        if flag == 3:
            step = outside + inside
        total += step
    tl.store(OUT + tl.arange(0, N), total)


def test_a_step_that_a_branch_of_the_body_chooses():
    x = torch.tensor([5, 1, 10, 100], dtype=torch.int32)
    for flag in (0, 3):
        for n in range(4):
            out = torch.zeros(16, dtype=torch.int32)
            chosen_step[(1,)](x, out, flag, n, N=16)
            wanted = torch.arange(16, dtype=torch.int32) + 5 * n + (int(x[1:n + 1].sum()) if flag == 3 else 0)
            assert torch.equal(out, wanted), (flag, n)
