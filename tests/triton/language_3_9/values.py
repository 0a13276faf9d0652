# tests/triton/language_3_9/values.py - values and types that Triton 3.9 defines otherwise than 3.6; language_test.py compares with its interpreter.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl


@triton.jit
def ex_softmax_rows(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """softmax along a row of square and other blocks; keep_dims has no effect"""
    r = tl.arange(0, N)
    x = tl.reshape(tl.load(X + r), (8, 8))
    tl.store(OUT + r, tl.reshape(tl.softmax(x, dim=1), (N,)))
    tl.store(OUT + N + r, tl.reshape(x.softmax(1, keep_dims=False), (N,)))
    tl.store(OUT + 2 * N + r, tl.reshape(tl.softmax(x), (N,)))
    tl.store(OUT + 3 * N + r, tl.reshape(tl.softmax(tl.reshape(x, (16, 4)), dim=1), (N,)))
    tl.store(OUT + 4 * N + r, tl.reshape(tl.softmax(tl.reshape(x, (2, 4, 8)), dim=-2, keep_dims=True), (N,)))
