import triton
import triton.language as tl


@triton.jit
def selected_attention(Q, K, V, O, LSE, SELECTED, scale, T, heads, G: tl.constexpr, D: tl.constexpr, B: tl.constexpr,
                       N: tl.constexpr):
    """A program for each token and head of k, as published kernels of selected attention do it: the G heads of q that share it
    are the rows of a tile, and each of the token's N selected blocks of keys is loaded behind its index; -1 selects nothing."""
    t = tl.program_id(0)
    h = tl.program_id(1)
    g, d, b = tl.arange(0, G), tl.arange(0, D), tl.arange(0, B)
    row = t * heads + h
    q = tl.load(Q + (row * G + g)[:, None] * D + d[None, :])
    acc = tl.zeros((G, D), tl.float32)
    top = tl.full((G,), -float("inf"), tl.float32)
    total = tl.zeros((G,), tl.float32)
    for n in range(N):
        start = tl.load(SELECTED + row * N + n) * B
        if start >= 0 and start <= t:
            keys = start + b
            at = (keys * heads + h)[:, None] * D + d[None, :]
            inside = keys < T
            k = tl.load(K + at, mask=inside[:, None], other=0.0)
            s = tl.dot(q, tl.trans(k)) * scale
            s = tl.where((keys <= t)[None, :], s, -float("inf"))
            new = tl.maximum(top, tl.max(s, 1))
            p = tl.exp(s - new[:, None])
            old = tl.exp(top - new)
            total = total * old + tl.sum(p, 1)
            v = tl.load(V + at, mask=inside[:, None], other=0.0)
            acc = acc * old[:, None] + tl.dot(p.to(v.dtype), v)
            top = new
    tl.store(O + (row * G + g)[:, None] * D + d[None, :], (acc / total[:, None]).to(O.dtype.element_ty))
    tl.store(LSE + row * G + g, top + tl.log(total))
