# tests/errors/launches/unknown-constexpr.py - a constexpr that the kernel does not have
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: The names are those of the tl.constexpr parameters.
# Fix: Write "BLOCK=128".

import torch

x = torch.ones(1000)
out = torch.empty(1000)
torch.ops.tessera.launch("add.py", "add", [x, x, out], [1000], [8], "BLOK=128")
