# kernels/attention/intervals.py - bounds of integer expressions, and ranges of positions, for what is derived from a pattern.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Functions that derived `sees_tile`, `key_range` and `query_range` call. Bounds include both ends, ranges exclude their end, and
`//` and `%` truncate toward zero, as they do for integers of the run time."""
import triton
import triton.language as tl


@triton.jit
def remainder_bounds(low, high, m):
    """Returns the lowest and the highest x % m of low <= x <= high, where m > 0."""
    # Without a multiple of m between the ends, the remainder grows with x.
    grows = (low // m == high // m) & ((low >= 0) | (high <= 0))
    lowest = tl.where(low < 0, tl.maximum(low, 1 - m), 0)
    highest = tl.where(high > 0, tl.minimum(high, m - 1), 0)
    return tl.where(grows, low % m, lowest), tl.where(grows, high % m, highest)


@triton.jit
def scaled_bounds(low, high, factor):
    """Returns the lowest and the highest x * factor of low <= x <= high."""
    return tl.minimum(low * factor, high * factor), tl.maximum(low * factor, high * factor)


@triton.jit
def product_bounds(low, high, low2, high2):
    """Returns the lowest and the highest x * y of low <= x <= high and low2 <= y <= high2."""
    a, b = scaled_bounds(low, high, low2)
    c, d = scaled_bounds(low, high, high2)
    return tl.minimum(a, c), tl.maximum(b, d)


@triton.jit
def floor_quotient(x, m):
    """Returns x / m rounded down, where m > 0; some number where m <= 0."""
    m = tl.maximum(m, 1)
    return tl.where(x >= 0, x // m, -((m - 1 - x) // m))


@triton.jit
def ceiling_quotient(x, m):
    """Returns x / m rounded up, where m > 0; some number where m <= 0."""
    return -floor_quotient(-x, m)


@triton.jit
def start_of_block(block, m):
    """Returns block * m, where m > 0, or a number outside of all positions on the same side if that does not fit. Positions are less than
    2^29, m is at most 2^30."""
    most = (1 << 30) // tl.maximum(m, 1)
    return tl.minimum(tl.maximum(block, -most), most) * m


@triton.jit
def last_of_quotient(quotient, m):
    """Returns the largest x with x // m <= quotient, where m > 0, at most 2^30 - 1, which is more than every position."""
    start = start_of_block(quotient, m)
    return tl.where(quotient >= 0, start + tl.minimum(m - 1, (1 << 30) - 1 - start), start)


@triton.jit
def first_of_quotient(quotient, m):
    """Returns the smallest x with x // m >= quotient, where m > 0, at least 1 - 2^30."""
    return -last_of_quotient(-quotient, m)


@triton.jit
def hull_of_ranges(start, stop, start2, stop2):
    """Returns the smallest range that contains [start, stop) and [start2, stop2); either may be empty."""
    first = tl.where(start2 >= stop2, start, tl.where(start >= stop, start2, tl.minimum(start, start2)))
    past = tl.where(start2 >= stop2, stop, tl.where(start >= stop, stop2, tl.maximum(stop, stop2)))
    return first, past


@triton.jit
def longer_range(start, stop, start2, stop2):
    """Returns the union of [start, stop) and [start2, stop2) if they touch, else the longer of both; either may be empty."""
    touch = (start2 <= stop) & (start <= stop2)
    second = stop2 - start2 > stop - start
    first = tl.where(touch, tl.minimum(start, start2), tl.where(second, start2, start))
    past = tl.where(touch, tl.maximum(stop, stop2), tl.where(second, stop2, stop))
    return first, past


@triton.jit
def known_range(known, length, first, full_first, full_past, past):
    """Returns the four bounds where `known` is true, else bounds that say nothing of the positions below `length`."""
    return tl.where(known, first, 0), tl.where(known, full_first, 0), tl.where(known, full_past, 0), tl.where(known, past, length)
