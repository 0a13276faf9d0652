# tests/errors/launches/block-of-100.py - a kernel that does not compile for the values of a launch
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: The launch compiles the kernel for BLOCK=100, and blocks are powers of two.
# Fix: Pass "BLOCK=128"; the mask takes care of the rest.

import torch

x = torch.ones(1000)
out = torch.empty(1000)
torch.ops.tessera.launch("add.py", "add", [x, x, out], [1000], [10], "BLOCK=100")
