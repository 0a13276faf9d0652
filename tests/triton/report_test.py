# tests/triton/report_test.py - what kernels print and assert on cpu, and what a user sees of it.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import sys

import pytest
from repository import ROOT


def run(kernel, n, programs=1, N=8, **options):
    """What one launch prints, in a separate process: the variables are read once."""
    environment = {k: v for k, v in os.environ.items() if k != "TESSERA_DEBUG"} | {k: str(v) for k, v in options.items()}
    return subprocess.run([sys.executable, ROOT / "tests/triton/reports/launch.py", kernel, str(n), str(programs), str(N)], env=environment,
                          text=True, capture_output=True).stdout


@pytest.mark.parametrize("kernel, n, programs, debug, parts", (
    pytest.param("bounded", 11, 2, True, ("error:", "kernel `bounded`", "kernels.py:11:5: assertion failed: past the end",
                                          "program (1, 0, 0), element 3 of the block", "comparing 11 and 11", "HINT"), id="assert"),
    pytest.param("bounded", 11, 2, False, ("out ",), id="assertions off"),
    pytest.param("masked", 2, 1, True, ("out 8",), id="masked"),
    pytest.param("masked", 3, 1, True, ("too large", "element 2", "comparing 1000 and 100"), id="not masked"),
    pytest.param("in_helper", 4, 1, True, ("kernel `in_helper`", "kernels.py:48:5: assertion failed: not positive", "element 1"), id="in a helper"),
    pytest.param("always", 5, 1, False, ("assertion failed", "program (0, 0, 0), comparing 5 and 100"), id="debug=True"),
))
def test_assert(kernel, n, programs, debug, parts):
    said = run(kernel, n, programs, **(dict(TESSERA_DEBUG=1) if debug else {}))
    assert [part for part in parts if part not in said] == [], said


def test_print():
    said = run("prints", 7)
    for part in ("pid (0, 0, 0) x fp32[4]: 1.5 -2 1000 0.100000001\n", "mixed: int32: 7\n", "bf16[4]: 1.5 -2 1000 0.1001\n",
                 "int1[4]: True False True True\n", "uint8[4]: 255 0 1 2\n", "bits fp32[4]: 0x3fc00000 0xc0000000 0x447a0000 0x3dcccccd\n",
                 "pid (0, 0, 0) hello\n", "out "):
        assert part in said


def test_limit():
    said = run("chatty", 5000, TESSERA_PRINT_LIMIT=3)
    for part in ("i int32: 0\n", "i int32: 2\n", "left out (TESSERA_PRINT_LIMIT=3)"):
        assert part in said
    assert said.count("\n") == 5
