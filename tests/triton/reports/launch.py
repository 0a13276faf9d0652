# tests/triton/reports/launch.py - launches one kernel of kernels.py, for report_test.py: launch.py KERNEL n PROGRAMS N.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import sys

import torch

torch.ops.load_library(os.environ["LIBTESSERA_TORCH"])
kernel, n, programs, N = sys.argv[1], *map(int, sys.argv[2:])
x, out = torch.tensor([1.5, -2.0, 1000.0, 0.1] * 16), torch.zeros(64)
try:
    torch.ops.tessera.launch(str(pathlib.Path(__file__).with_name("kernels.py")), kernel, [x, out], [n], [programs], f"N={N}")
    print("out", out.sum().item())
except RuntimeError as error:
    print("error:", error)
