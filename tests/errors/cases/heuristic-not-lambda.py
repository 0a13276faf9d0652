# tests/errors/cases/heuristic-not-lambda.py - a heuristic that is a value
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
# Why: A heuristic computes its parameter from the arguments of each launch.
# Fix: Write `lambda args: args["n"] % 128 == 0`.

import triton
import triton.language as tl


@triton.heuristics({"EVEN": True})
@triton.jit
def rows(x, out, n, EVEN: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at), mask=at < n)
