# tests/errors/cases/load-none.py - loading through an argument that is None
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: The caller left `bias` out: it is None in this specialization.
# Fix: Guard the load: `if bias is not None:`.

import triton
import triton.language as tl


# tessera: instance shift(x="*fp32:16", bias=None, out="*fp32:16", BLOCK=128)
@triton.jit
def shift(x, bias, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) + tl.load(bias + at))
