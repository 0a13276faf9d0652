# tests/helpers/steady_products.py - tl.dot of Triton's interpreter whose result for a row does not depend on the place of the row.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""The interpreter multiplies with the BLAS of numpy, which on some processors adds the products of one row in another order than those of
the next one. A test that compares the bits of two launches would then pass on one machine and fail on another."""
import numpy as np


def make_steady():
    """Changes the interpreter of this process, once: it adds the products of floats in fp64 and rounds the sum to the type of the result."""
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
