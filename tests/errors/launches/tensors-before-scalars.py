# tests/errors/launches/tensors-before-scalars.py - a kernel whose tensors do not come first
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: torch.ops.tessera.launch passes all tensors, then all scalars; `scale` has the number
#   between its tensors.
# Fix: Put the tensors first in the kernel's parameters: `scale(x, out, n, ...)`.

import torch

x = torch.ones(1000)
out = torch.empty(1000)
torch.ops.tessera.launch("add.py", "scale", [x, out], [1000], [8], "BLOCK=128")
