# tests/errors/launches/complex-scalar.py - a complex number as an argument
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: Scalars are integers or floats.
# Fix: Pass real numbers.

import torch

x = torch.ones(1000)
out = torch.empty(1000)
torch.ops.tessera.launch("add.py", "add", [x, x, out], [1j], [8], "BLOCK=128")
