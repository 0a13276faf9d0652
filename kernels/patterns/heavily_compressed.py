# kernels/patterns/heavily_compressed.py - all compressed keys and a window in one softmax.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""DeepSeek-AI 2026, DeepSeek-V4, heavily compressed attention (HCA): a query attends to the mean key of every complete block of l tokens, to
its last tokens, and to a learned sink. The paper's compression has learned weights; this one is the mean."""
import triton


# tessera: streams(compressed(l=128, d=128), window(128), joined)
# tessera: learned(sink=[Hq])
@triton.jit
def sees(t, pos):
    """Returns whether the query at position t attends to a key whose last token has position pos."""
    return pos <= t
