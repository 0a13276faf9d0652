# tests/errors/launches/grid-negative.py - a grid with a negative number
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: A grid counts programs.
# Fix: Write `[8]`.

import torch

x = torch.ones(1000)
out = torch.empty(1000)
torch.ops.tessera.launch("add.py", "add", [x, x, out], [1000], [-8], "BLOCK=128")
