# tests/errors/launches/grid-empty.py - a grid without numbers
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: A grid has one to three axes.
# Fix: Write `[8]`.

import torch

x = torch.ones(1000)
out = torch.empty(1000)
torch.ops.tessera.launch("add.py", "add", [x, x, out], [1000], [], "BLOCK=128")
