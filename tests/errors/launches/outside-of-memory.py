# tests/errors/launches/outside-of-memory.py - an address that is not there
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: The mask keeps `at` below n, not `at + by` above 0. The processor stops the kernel; the program goes on.
# Fix: Mask the load with `(at + by >= 0) & (at + by < n)`.

import torch

# Neighbours: the message names the argument that is nearest.
x, out = torch.ones(256).split(128)
torch.ops.tessera.launch("add.py", "shift", [x, out], [128, -(1 << 40)], [1], "BLOCK=128")
