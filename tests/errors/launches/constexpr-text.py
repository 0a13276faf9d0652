# tests/errors/launches/constexpr-text.py - constexprs that cannot be read
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: The last argument is a text of NAME=value, separated by commas, as in a call.
# Fix: Write "BLOCK=128".

import torch

x = torch.ones(1000)
out = torch.empty(1000)
torch.ops.tessera.launch("add.py", "add", [x, x, out], [1000], [8], "BLOCK: 128")
