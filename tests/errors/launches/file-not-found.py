# tests/errors/launches/file-not-found.py - a kernel file that is not there
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: The path is looked up from the current folder, then in TESSERA_KERNELS, then beside the
#   program.
# Fix: Check the name.

import torch

x = torch.ones(1000)
out = torch.empty(1000)
torch.ops.tessera.launch("addd.py", "add", [x, x, out], [1000], [8], "BLOCK=128")
