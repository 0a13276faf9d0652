# tests/errors/launches/complex-tensor.py - a tensor of a type that kernels do not have
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: Kernels compute with integers and real floats.
# Fix: Pass real and imaginary parts: `torch.view_as_real(x)`.

import torch

x = torch.ones(1000, dtype=torch.complex64)
out = torch.empty(1000)
torch.ops.tessera.launch("add.py", "add", [x, x, out], [1000], [8], "BLOCK=128")
