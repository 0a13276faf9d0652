# kernels/patterns/prefix_lm.py - full attention inside a prefix of each sequence, causal attention after it.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Raffel et al. 2020, Exploring the Limits of Transfer Learning (T5), section 3.2.1. `prefix` is the number of tokens of each
sequence's prefix."""
import triton


# tessera: pattern()
# tessera: per_sequence(prefix=i32)
@triton.jit
def sees(t, pos, prefix):
    """Returns whether the query at position t attends to the key at position pos."""
    return (pos <= t) | (pos < prefix)
