# kernels/patterns/strided.py - a local window and every stride-th key before it.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Child et al. 2019, Generating Long Sequences with Sparse Transformers, section 4.3: the strided pattern, both parts in one head."""
import triton
import triton.language as tl


# tessera: pattern(local=128, stride=128)
# tessera: tiles(BM=16, BN=32, RUN=4)
@triton.jit
def sees(t, pos, local: tl.constexpr, stride: tl.constexpr):
    """Returns whether the query at position t attends to the key at position pos."""
    return (pos <= t) & ((t - pos < local) | ((t - pos) % stride == 0))
