# NAME.py - an attention pattern: a sliding window.
import triton
import triton.language as tl


# tessera: pattern(window=64)
@triton.jit
def sees(t, pos, window: tl.constexpr):
    """Returns whether the query at position t attends to the key at position pos."""
    return (pos <= t) & (t - pos < window)
