# kernels/patterns/dense.py - causal attention: every query attends to the keys up to its own position.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Vaswani et al. 2017, Attention Is All You Need, section 3.2.3."""
import triton


# tessera: pattern()
@triton.jit
def sees(t, pos):
    """Returns whether the query at position t attends to the key at position pos."""
    return pos <= t
