# kernels/patterns/fixed.py - the own block and the last keys of every earlier block.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Child et al. 2019, Generating Long Sequences with Sparse Transformers, section 4.3: the fixed pattern, both parts in one head."""
import triton
import triton.language as tl


# tessera: pattern(block=128, summary=16)
# tessera: tiles(BM=64, BN=64, RUN=16)
@triton.jit
def sees(t, pos, block: tl.constexpr, summary: tl.constexpr):
    """Returns whether the query at position t attends to the key at position pos."""
    return (pos <= t) & ((pos // block == t // block) | (pos % block >= block - summary))
