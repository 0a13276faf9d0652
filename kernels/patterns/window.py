# kernels/patterns/window.py - a causal sliding window.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Beltagy et al. 2020, Longformer, section 3.1: every query attends to the last `window` keys, its own included."""
import triton
import triton.language as tl


# tessera: pattern(window=512)
@triton.jit
def sees(t, pos, window: tl.constexpr):
    """Returns whether the query at position t attends to the key at position pos."""
    return (pos <= t) & (t - pos < window)
