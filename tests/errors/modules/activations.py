# tests/errors/modules/activations.py - a file that cases import from.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl


@triton.jit
def relu(x):
    return tl.maximum(x, 0.0)
