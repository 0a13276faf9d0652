# docs/language/examples/dot.py - matrix products.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Matrix product

Operands share a type: a float, or int8. The accumulator is float32, float64 for float64, int32 for int8, float16 if `out_dtype` or `acc` is, with float16 operands. `input_precision` is "ieee", "tf32", "tf32x3", "bf16x3" or "bf16x6"; the default
is that of the compilation; the cpu target computes all of them as IEEE. 8-bit floats of either kind are multiplied as float16. `dot_scaled` is not supported yet."""
import triton
import triton.language as tl


@triton.jit
def ex_dot(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """acc + a @ b, of matrices or of batches of matrices"""
    r = tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :]
    a, b = tl.load(X + r), tl.load(Y + r)
    acc = tl.dot(a, b, input_precision="ieee")
    acc = tl.dot(a, b.T, acc, allow_tf32=False)
    tl.store(OUT + r, acc)
    q = tl.arange(0, 4)[:, None, None] * 256 + tl.arange(0, 16)[None, :, None] * 16 + tl.arange(0, 16)[None, None, :]
    tl.store(OUT + 256 + q, tl.dot(tl.load(X + q), tl.load(Y + q), input_precision="ieee"))
