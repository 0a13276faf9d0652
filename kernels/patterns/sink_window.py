# kernels/patterns/sink_window.py - a sliding window with a learned sink for each head.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""OpenAI 2025, gpt-oss model card, section 2: the denominator of each head's softmax has one more, learned term. Xiao et al. 2023,
Efficient Streaming Language Models with Attention Sinks, keep the first tokens visible: `first` of them are."""
import triton
import triton.language as tl


# tessera: pattern(window=512, first=4)
# tessera: learned(sink=[Hq])
@triton.jit
def sees(t, pos, window: tl.constexpr, first: tl.constexpr):
    """Returns whether the query at position t attends to the key at position pos."""
    return (pos <= t) & ((t - pos < window) | (pos < first))
