# tests/helpers/steady_products.py - makes tl.dot of Triton's interpreter return the same bits for a row, wherever the row is in the tile.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""The interpreter calls numpy's BLAS. On some processors, BLAS adds the products of different rows in different orders. A test that compares
the bits of two launches would then pass on one machine and fail on another."""
import numpy as np


def make_steady():
    """Changes tl.dot of the interpreter in this process, once: it adds products of floats in fp64 and rounds the sum to the result's type."""
    from triton.runtime import interpreter
    builder = interpreter.InterpreterBuilder
    stock = builder.create_dot
    if getattr(stock, "steady", False):
        return

    def create_dot(self, a, b, d, *rest):
        if not (a.data.dtype.kind == b.data.dtype.kind == d.data.dtype.kind == "f"):
            return stock(self, a, b, d, *rest)
        product = np.matmul(a.data.astype(np.float64), b.data.astype(np.float64)).astype(d.data.dtype)
        return interpreter.TensorHandle(product + d.data, d.dtype.scalar)
    create_dot.steady = True
    builder.create_dot = create_dot
