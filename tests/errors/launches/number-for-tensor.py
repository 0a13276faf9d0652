# tests/errors/launches/number-for-tensor.py - a number where the kernel loads
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: The third parameter of `add` is a pointer, and the launch passes a number for it.
# Fix: Pass tensors in the order of the parameters: `[x, x, out], [1000]`.

import torch

x = torch.ones(1000)
out = torch.empty(1000)
torch.ops.tessera.launch("add.py", "add", [x, x], [1000, 1000], [8], "BLOCK=128")
