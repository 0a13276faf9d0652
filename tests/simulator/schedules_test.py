# tests/simulator/schedules_test.py - real PTX under random schedules and with the sums of measured tensor cores.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs other tests of the simulator again. Their results must stay within their limits, and no check may fire: under random orders of
blocks, warps and branches (odd seeds with copies that read at issue, even ones with independent thread scheduling), and with the tensor
cores of an A100 and of an H100. A small set of our PTX and Triton's; schedules_all.py has all of it."""
import pytest
from programs import QUICK, run

each_program = pytest.mark.parametrize("program", QUICK, ids=lambda program: program.name.replace(" ", "-"))


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Variables that let the processes of this file share Triton's PTX."""
    return {"SIM_KEPT": str(tmp_path_factory.mktemp("kept"))}


@each_program
@pytest.mark.parametrize("seed", (1, 2))
def test_order(seed, program, kept):
    run(program, SIM_SEED=str(seed), SIM_FLAGS="at_issue" if seed % 2 else "apart", **kept)


@each_program
@pytest.mark.parametrize("cores", ("a100", "h100"))
def test_tensor_cores(cores, program, kept):
    run(program, SIM_FLAGS=cores, **kept)
