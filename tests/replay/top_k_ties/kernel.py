import triton
import triton.language as tl


@triton.jit
def top_k(SCORES, INDEX, VALUE, cols, K: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    s = tl.load(SCORES + row * cols + c, mask=c < cols, other=float("-inf"))
    for k in tl.static_range(K):
        best = tl.argmax(s, axis=0)
        tl.store(INDEX + row * K + k, best)
        tl.store(VALUE + row * K + k, tl.max(s, axis=0))
        s = tl.where(c == best, float("-inf"), s)
