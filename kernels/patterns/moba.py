# kernels/patterns/moba.py - mixture of block attention: each query head attends to the blocks with the best mean key.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Lu et al. 2025, MoBA: Mixture of Block Attention for Long-Context LLMs, section 2.2: a block's score is the product of the query with the
mean of the block's keys, and the query's own block is always selected."""
import triton


# tessera: select(block=64, top=16, scope=q, local=1, score=pooled(mean))
@triton.jit
def sees(t, pos):
    """Returns whether the query at position t attends to the key at position pos of a selected block."""
    return pos <= t
