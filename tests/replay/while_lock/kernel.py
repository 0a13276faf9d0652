import triton
import triton.language as tl


@triton.jit
def locked_sum(LOCK, SUM, X, BLOCK: tl.constexpr):
    """Programs add rows to one sum, each while it holds the lock."""
    row = tl.program_id(0)
    while tl.atomic_cas(LOCK, 0, 1) == 1:
        pass
    c = tl.arange(0, BLOCK)
    tl.store(SUM + c, tl.load(SUM + c) + tl.load(X + row * BLOCK + c))
    tl.debug_barrier()
    tl.atomic_xchg(LOCK, 0)
