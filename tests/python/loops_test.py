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
