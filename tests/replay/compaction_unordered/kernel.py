import triton
import triton.language as tl


@triton.jit
def keep_positive(IN, OUT, COUNT, n, BLOCK: tl.constexpr):
    """Each program takes a place for every value it keeps: their order is that of the programs."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(IN + at, mask=at < n, other=-1)
    kept = x > 0
    place = tl.cumsum(kept.to(tl.int32), 0) - 1
    base = tl.atomic_add(COUNT, tl.sum(kept.to(tl.int32), 0))
    tl.store(OUT + base + place, x, mask=kept)
