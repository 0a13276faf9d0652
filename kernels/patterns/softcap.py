# kernels/patterns/softcap.py - causal attention whose scores stay between -cap and cap.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Gemma Team 2024, Gemma 2, section 2: score = cap * tanh(score / cap)."""
import triton
import triton.language as tl


# tessera: pattern(cap=50.0)
@triton.jit
def modify(s, t, pos, head, cap: tl.constexpr):
    """Returns the capped score; tanh(x) = 2 * sigmoid(2x) - 1."""
    return cap * (2.0 * tl.sigmoid(2.0 * s / cap) - 1.0)
