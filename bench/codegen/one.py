# bench/codegen/one.py - the kernel of one line whose compilation, without ptxas, is a compiler's start-up.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl


# tessera: instance one_f32(X="*fp32:16")
@triton.jit
def one(X):
    tl.store(X, 1.0)
