# kernels/tutorials/softmax.py - the softmax of each row, read once.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl


# tessera: instance softmax_f32(X="*fp32:16", Y="*fp32:16", rows="i32", cols="i32", sx="i32", sy="i32", BLOCK=1024)
@triton.jit
def softmax(X, Y, rows, cols, sx, sy, BLOCK: tl.constexpr):
    """Computes the softmax of rows; programs take rows in turn, BLOCK is at least cols.

    Grid: any number of programs.
    """
    c = tl.arange(0, BLOCK)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        x = tl.load(X + row * sx + c, mask=c < cols, other=float("-inf"))
        e = tl.exp(x - tl.max(x, 0))
        tl.store(Y + row * sy + c, e / tl.sum(e, 0), mask=c < cols)
