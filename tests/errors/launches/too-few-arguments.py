# tests/errors/launches/too-few-arguments.py - a launch with too few arguments
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: The kernel takes three tensors and a number, and the launch passes two tensors and a
#   number.
# Fix: Pass `out` as well.

import torch

x = torch.ones(1000)
out = torch.empty(1000)
torch.ops.tessera.launch("add.py", "add", [x, x], [1000], [8], "BLOCK=128")
