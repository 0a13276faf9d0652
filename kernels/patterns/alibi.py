# kernels/patterns/alibi.py - causal attention with a learned linear bias for each head.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Press et al. 2022, Train Short, Test Long (ALiBi), section 3: score - slope * (t - pos). The slopes are learned here (section 3
reports that fixed ones train as well)."""
import triton


# tessera: pattern()
# tessera: learned(slope=[Hq])
@triton.jit
def modify(s, t, pos, head, slope):
    """Returns the score less slope times the distance of query and key."""
    return s - slope * (t - pos)
