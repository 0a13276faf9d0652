# tests/errors/cases/not-jit.py - calling a helper that is not decorated
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: Only functions decorated with @triton.jit are compiled into kernels.
# Fix: Put `@triton.jit` above `relu`.

import triton
import triton.language as tl


def relu(x):
    return tl.maximum(x, 0.0)


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, relu(a))
