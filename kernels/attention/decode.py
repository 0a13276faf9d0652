# kernels/attention/decode.py - attention of a pattern for new tokens, over a cache of keys and values.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""o = softmax(score(scale * q k^T)) v over the keys that the pattern shows. Shapes: q [B, N, H*G, D] and o [B, N, H*G, E] of the N new
tokens at positions begin .. end-1 of each of B sequences; k [B, H, C, D] and v [B, H, C, E] of the C >= end positions of the cache."""
import triton
import triton.language as tl
from kernels.attention.core import Rows, query_tile
from kernels.attention.forward import forward_tile


@triton.jit
def of_sequence(x, stride):
    """The rows of x that belong to the program's sequence, whose elements are `stride` apart from those of the next sequence."""
    return Rows(x.ptr + tl.program_id(2).to(tl.int64) * stride, x.token, x.head)


@triton.jit
def decode(q, k, v, o, strides, sink, learned, begin, end, scale, pattern, size):
    """One tile of new tokens of one key/value head. The program ids are the tile, the key/value head and the sequence.

    strides are those between sequences of q, k, v and o. sink and learned [H*G] are as in kernels/attention/forward.py, with a token
    stride of 0. Keys outside of pattern.keys are not read.
    """
    tl.static_assert(size.BM // size.G > 0, "BM must hold all heads of a token")
    first = begin + tl.program_id(0) * (size.BM // size.G)
    tile = query_tile(0 - begin, end, first, tl.program_id(1).to(tl.int64), begin * 0, end, size.G, size.BM)
    # Pass the inputs directly as an argument. If a local variable held them, the compile-time parameters of the pattern would become
    # run-time values.
    forward_tile(of_sequence(q, strides[0]), of_sequence(k, strides[1]), of_sequence(v, strides[2]), of_sequence(o, strides[3]), None, sink, learned,
                 tile, scale, pattern.inputs if pattern.load is None else pattern.load(pattern.inputs, tl.program_id(2)), pattern, size, 1)


@triton.jit
def first_reader(out, begin, end, heads, pattern):
    """Stores the lowest position of a query that attends to any of the keys begin .. end-1, or `begin` if that is lower. The program id
    is the sequence, which has `end` tokens."""
    sequence = tl.program_id(0)
    first, full_first, full_past, past = pattern.queries(begin, end - 1, end, 0, heads - 1,
                                                         pattern.inputs if pattern.load is None else pattern.load(pattern.inputs, sequence))
    tl.store(out + sequence, tl.minimum(tl.where(first < past, first, begin), begin))
