# bench/cpu/cross_entropy.py - the loss of each row of logits, read once.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl


# tessera: instance cross_entropy_f32(X="*fp32:16", TARGET="*i32:16", LOSS="*fp32:16", rows="i32", cols="i32", sx="i32", BLOCK=1024)
@triton.jit
def cross_entropy(X, TARGET, LOSS, rows, cols, sx, BLOCK: tl.constexpr):
    """LOSS[row] = log(sum(exp(X[row]))) - X[row, TARGET[row]]; BLOCK is at least cols."""
    c = tl.arange(0, BLOCK)
    each = tl.cdiv(rows, tl.num_programs(0))  # neighbours: memory is read in order
    first = tl.program_id(0) * each
    for row in range(first, min(first + each, rows)):
        x = tl.load(X + row * sx + c, mask=c < cols, other=float("-inf"))
        top = tl.max(x, 0)
        right = tl.load(X + row * sx + tl.load(TARGET + row))
        tl.store(LOSS + row, tl.log(tl.sum(tl.exp(x - top), 0)) + top - right)
