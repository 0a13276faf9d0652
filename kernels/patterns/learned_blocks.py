# kernels/patterns/learned_blocks.py - blocks selected by a learned indexer.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""DeepSeek-AI 2025, DeepSeek-V3.2-Exp, section 2: an indexer with its own heads scores tokens by weighted ReLU products and learns from the
distribution of the attention that it serves. A block has the score of its best token; block=1 selects single tokens."""
import triton


# tessera: select(block=64, top=16, scope=all, first=0, local=1, score=indexer(heads=4, dim=64))
@triton.jit
def sees(t, pos):
    """Returns whether the query at position t attends to the key at position pos of a selected block."""
    return pos <= t
