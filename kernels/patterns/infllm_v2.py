# kernels/patterns/infllm_v2.py - blocks selected by compressed attention; short batches are dense.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Zhao et al. 2025, InfLLM-V2: Dense-Sparse Switchable Attention, section 3: selection and attention share keys and values, the heads of a
key/value head share a list, and batches shorter than `dense_below` attend to all keys. Defaults of MiniCPM4."""
import triton


# tessera: select(block=64, top=96, scope=kv, first=1, local=32, dense_below=8192, score=compressed(l=32, d=16))
@triton.jit
def sees(t, pos):
    """Returns whether the query at position t attends to the key at position pos of a selected block."""
    return pos <= t
