# bench/peers/__init__.py - baselines in PyTorch.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
