import triton
import triton.language as tl


@triton.jit
def hash_offsets(OUT, seed, base, n, BLOCK: tl.constexpr):
    """64-bit arithmetic on numbers that i32 does not hold."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    wide = at.to(tl.int64) * 2654435761 + base
    mixed = (wide ^ seed) * 7
    tl.store(OUT + at, (mixed >> 3) & 0xFFFFFFFFFF, mask=at < n)
