# kernels/patterns/compressed_sparse.py - compressed keys that a learned indexer selects, and a window, in one softmax.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""DeepSeek-AI 2026, DeepSeek-V4, compressed sparse attention (CSA): a learned indexer selects compressed keys; a query attends to them, to its
last tokens, and to a learned sink. The paper's compression has learned weights; this one is the mean."""
import triton


# tessera: select(block=1, top=64, scope=all, local=0, score=indexer(heads=4, dim=64))
# tessera: streams(selected(compressed(l=8, d=4)), window(128), joined)
# tessera: learned(sink=[Hq])
@triton.jit
def sees(t, pos):
    """Returns whether the query at position t attends to a key whose last token has position pos."""
    return pos <= t
