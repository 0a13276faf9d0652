# tests/errors/cases/config-parameter.py - a configuration for a parameter that is not there
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: Each name of a triton.Config is a constexpr parameter of the kernel.
# Fix: Write `BLOCK`.

import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK_SIZE": 128})], key=["n"])
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at), mask=at < n)
