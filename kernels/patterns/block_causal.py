# kernels/patterns/block_causal.py - causal attention between blocks, full attention inside each.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Arriola et al. 2025, Block Diffusion, section 3.2: a query attends to its own block and to the blocks before it."""
import triton
import triton.language as tl


# tessera: pattern(block=64)
@triton.jit
def sees(t, pos, block: tl.constexpr):
    """Returns whether the query at position t attends to the key at position pos."""
    return pos // block <= t // block
