# tests/errors/cases/torch-type.py - a type of torch
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: torch's types are for tensors; blocks have those of `tl`.
# Fix: Write `tl.float16`.

import triton
import triton.language as tl

import torch


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, a.to(torch.float16))
