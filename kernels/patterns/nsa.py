# kernels/patterns/nsa.py - native sparse attention: compressed keys, selected blocks and a window, each with a gate.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Yuan et al. 2025, Native Sparse Attention, equation 5. Each stream has its own keys and values and its own softmax. The blocks are those
that receive most attention by compressed keys (equations 8 to 12); the heads of a key/value head share them."""
import triton


# tessera: select(block=64, top=16, scope=kv, first=1, local=2, score=compressed(l=32, d=16))
# tessera: streams(compressed, selected, window(512))
@triton.jit
def sees(t, pos):
    """Returns whether the query at position t attends to the key at position pos of a selected block."""
    return pos <= t
