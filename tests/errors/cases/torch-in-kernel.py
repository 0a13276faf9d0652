# tests/errors/cases/torch-in-kernel.py - a function of torch inside a kernel
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: A kernel is compiled to machine code: it sees blocks, not tensors of torch.
# Fix: Write `tl.zeros((BLOCK,), tl.float32)`.

import triton
import triton.language as tl

import torch


# tessera: instance clear(out="*fp32:16", BLOCK=128)
@triton.jit
def clear(out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, torch.zeros(BLOCK))
