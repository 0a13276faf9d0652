# tests/errors/launches/missing-constexpr.py - a launch without a value for a constexpr
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: `BLOCK` has no default, configuration or heuristic.
# Fix: Pass "BLOCK=128".

import torch

x = torch.ones(1000)
out = torch.empty(1000)
torch.ops.tessera.launch("add.py", "add", [x, x, out], [1000], [8], "")
