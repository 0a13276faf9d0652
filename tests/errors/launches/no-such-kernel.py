# tests/errors/launches/no-such-kernel.py - a kernel that the file does not have
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: The second argument is the name of a @triton.jit function of the file.
# Fix: Write "add".

import torch

x = torch.ones(1000)
out = torch.empty(1000)
torch.ops.tessera.launch("add.py", "ad", [x, x, out], [1000], [8], "BLOCK=128")
