# kernels/attention/masks.py - which keys a query attends to: all before it, the last few, or compressed tokens.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""The functions of a Pattern (kernels/attention/core.py) for the kernels in kernels/dense and kernels/nsa."""
import triton
import triton.language as tl


@triton.jit
def causal_mask(t, pos, head, extra):
    return pos <= t


@triton.jit
def causal_keys(t0, t1, length, head0, head1, extra):
    return 0, 0, t0 + 1, t1 + 1


@triton.jit
def causal_queries(pos0, pos1, length, head0, head1, extra):
    return pos0, pos1, length, length


@triton.jit
def window_mask(t, pos, head, extra):
    """extra is (W,): the query attends to its own key and the W - 1 keys before it."""
    return (pos <= t) & (pos > t - extra[0])


@triton.jit
def window_keys(t0, t1, length, head0, head1, extra):
    return tl.maximum(t0 - extra[0] + 1, 0), tl.maximum(t1 - extra[0] + 1, 0), t0 + 1, t1 + 1


@triton.jit
def window_queries(pos0, pos1, length, head0, head1, extra):
    return pos0, pos1, tl.minimum(pos0 + extra[0], length), tl.minimum(pos1 + extra[0], length)


@triton.jit
def compressed_count(t, extra):
    """extra is (L, STRIDE, keys): compressed token i holds tokens i * STRIDE .. i * STRIDE + L - 1. How many end at token t or before (NSA,
    equation 7), at most `keys` unless it is None."""
    count = tl.maximum(t + 1 - extra[0] + extra[1], 0) // extra[1]
    if extra[2] is not None:
        count = tl.minimum(count, extra[2])
    return count


@triton.jit
def compressed_mask(t, pos, head, extra):
    return pos < compressed_count(t, extra)


@triton.jit
def compressed_keys(t0, t1, length, head0, head1, extra):
    return 0, 0, compressed_count(t0, extra), compressed_count(t1, extra)


@triton.jit
def compressed_queries(pos0, pos1, length, head0, head1, extra):
    return pos0 * extra[1] + extra[0] - 1, pos1 * extra[1] + extra[0] - 1, length, length


@triton.jit
def stream_sizes(inputs, sequence):
    """inputs is (L, STRIDE, CU): extra becomes (L, STRIDE, keys of the sequence), which may be fewer than its tokens suffice for."""
    return inputs[0], inputs[1], tl.load(inputs[2] + sequence + 1) - tl.load(inputs[2] + sequence)


@triton.jit
def bounded_mask(t, pos, head, extra):
    """extra is (bound,): the query attends to keys before it."""
    return pos < extra[0]


@triton.jit
def small_block(pos, first, SUB: tl.constexpr):
    """Number of the block of SUB tokens that contains pos among those of a super-block that begins at `first`; at most 31."""
    return tl.minimum(pos - first, 32 * SUB - 1) // SUB


@triton.jit
def picked_mask(t, pos, head, extra):
    """extra is (newest, first, bits, SUB): listed_mask of the small blocks of a super-block whose bits, [rows, 1], are set."""
    return (pos <= extra[0]) & (((extra[2] >> small_block(pos, extra[1], extra[3])) & 1) > 0)


@triton.jit
def listed_mask(t, pos, head, extra):
    """extra is (newest, bound): a row attends to keys up to newest, [rows, 1], and before the end of the block, unless bound is None."""
    keep = pos <= extra[0]
    if extra[1] is not None:
        keep = keep & (pos < extra[1])
    return keep
