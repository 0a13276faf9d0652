# tests/python/ordered_blocks_test.py - programs that add to one address in a fixed order, with some of them resident at a time.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import numpy
import pytest
import tessera
import tessera.language as tl
import torch


@tessera.jit
def ordered_sum(X, Y, TICKETS, TURNS, steps, programs, LATE: tl.constexpr, SIZE: tl.constexpr):
    """Y[steps, SIZE] gets the sums of X[programs, steps, SIZE] over the programs, added in the order of their tickets. A program waits
    for its turn at each step; with LATE it waits for programs that start after it."""
    ticket = tl.atomic_add(TICKETS, 1, sem="relaxed")
    turn = programs - 1 - ticket if LATE else ticket
    cols = tl.arange(0, SIZE)
    for step in range(steps):
        x = tl.load(X + (turn * steps + step) * SIZE + cols)
        while tl.atomic_add(TURNS + step, 0, sem="acquire") != turn:
            pass
        tl.store(Y + step * SIZE + cols, tl.load(Y + step * SIZE + cols) + x)
        tl.debug_barrier()
        tl.atomic_add(TURNS + step, 1, sem="release")


PROGRAMS, STEPS, SIZE = 24, 5, 128


def run(late=False):
    x = torch.randn(PROGRAMS, STEPS, SIZE, generator=torch.Generator().manual_seed(2)) * torch.logspace(-3, 3, PROGRAMS)[:, None, None]
    y, counters = torch.zeros(STEPS, SIZE), torch.zeros(1 + STEPS, dtype=torch.int32)
    ordered_sum[(PROGRAMS,)](x, y, counters[:1], counters[1:], STEPS, PROGRAMS, late, SIZE)
    want = numpy.zeros((STEPS, SIZE), numpy.float32)
    for one in x.numpy():
        want = want + one  # fp32, in order
    return y, torch.from_numpy(want)


@pytest.mark.parametrize("resident", [1, 2, 8, 108, 132])
def test_sums_are_the_same_bit_for_bit_in_every_schedule(monkeypatch, resident):
    monkeypatch.setenv("TESSERA_SIM_RESIDENT", str(resident))
    for seed in range(20 if resident == 8 else 4):
        monkeypatch.setenv("TESSERA_SIM_SEED", str(seed))
        y, want = run()
        assert torch.equal(y, want), f"seed {seed}"


@pytest.mark.parametrize("resident", [1, 8, PROGRAMS - 1])
def test_waiting_for_later_programs_is_a_deadlock(monkeypatch, resident):
    monkeypatch.setenv("TESSERA_SIM_RESIDENT", str(resident))
    with pytest.raises(Exception, match=rf"wait for one another, or for one of the {PROGRAMS - resident} that have not started"):
        run(late=True)


def test_waiting_for_later_programs_ends_where_all_are_resident(monkeypatch):
    monkeypatch.setenv("TESSERA_SIM_RESIDENT", str(PROGRAMS))
    y, want = run(late=True)
    assert torch.equal(y, want)


@pytest.mark.parametrize("value", ["-1", "65537", "many"])
def test_a_wrong_number_is_refused(monkeypatch, value):
    monkeypatch.setenv("TESSERA_SIM_RESIDENT", value)
    with pytest.raises(Exception, match="TESSERA_SIM_RESIDENT"):
        run()
