# bench/codegen/one.py - the kernel of one line whose compilation, without ptxas, is what start-up takes.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl


@triton.jit
def one(X):
    tl.store(X, 1.0)
