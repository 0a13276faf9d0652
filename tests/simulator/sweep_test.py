# tests/simulator/sweep_test.py - every NSA and dense kernel as our own PTX over warps, stages and types, against fp64.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""sweep_test.py forward|backward [all]: packed sequences (one of them empty, one of a single token), two key heads of three
query heads each; the loops over keys have fewer turns than the pipeline has stages, as many, and more.

Each kernel runs with each number of warps in each type, and with each number of stages; `all`: with each of both."""
import dataclasses
import pathlib
import runpy
import sys

HERE = pathlib.Path(__file__).resolve().parent
TRITON = HERE.parent / "triton"
sys.path[:0] = [str(HERE), str(TRITON)]

import simulator_launcher as launcher  # noqa: E402
from simulator_launcher import torch  # noqa: E402
import cases  # noqa: E402

FP32, BF16 = torch.float32, torch.bfloat16
ROWS = [(1, 1, FP32), (4, 2, BF16), (8, 3, FP32), (1, 4, BF16), (4, 5, FP32), (8, 1, BF16)]  # warps, stages, type
SHAPE = cases.Shape([21, 0, 70, 1], hkv=2, group=3, dim=32, vdim=16, l=8, d=4, lsel=16, n=4, w=24, bn=16)

if "all" in sys.argv[2:]:
    ROWS = [(warps, stages, dtype) for warps in (1, 4, 8) for stages in range(1, 6) for dtype in (FP32, BF16)]

program = sys.argv[1]
sys.argv = [program]
for warps, stages, dtype in ROWS:
    launcher.use("ieee", warps, stages, compiler="tessera")
    # Rows enough for each warp.
    shape = dataclasses.replace(SHAPE, dtype=dtype, bm=16 * max(2, warps // 2))
    cases.chosen = lambda: [shape]
    before = len(launcher.failures)
    try:
        runpy.run_path(str(TRITON / f"{program}_test.py"), run_name="__main__")
    except SystemExit as end:
        if end.code and len(launcher.failures) == before:
            raise
    launcher.failures[before:] = [f"{warps} warps, {stages} stages: {line}" for line in launcher.failures[before:]]
launcher.finish()
