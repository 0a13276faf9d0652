# tests/simulator/tilekernels.py - kernels whose launches report_test.py catches; they are never compiled.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl


@triton.jit
def plain(X, n, s=1.5, BLOCK: tl.constexpr = 4):
    tl.store(X + tl.arange(0, BLOCK), s, mask=tl.arange(0, BLOCK) < n)


@triton.heuristics({"EVEN": lambda args: args["n"] % 32 == 0})
@triton.autotune(configs=[triton.Config({"BLOCK": 32}, num_warps=1, num_stages=2), triton.Config({"BLOCK": 64})], key=["n"])
@triton.jit
def tuned(X, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    tl.store(X + tl.arange(0, BLOCK), 1.0, mask=tl.arange(0, BLOCK) < n)
