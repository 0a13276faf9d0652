import tessera
import tessera.language as tl


@tessera.jit
def larger(a, b):
    return tl.maximum(a, b)


@tessera.jit
def add(a, b):
    return a + b


@tessera.jit
def affine(a, b, c, d):
    return a * c, b * c + d


@tessera.jit
def kernel(X0, X1, X2, X3, C, O5, O6, O7, O8, O9, O10, O11, O12, O13, O14, O15, O16, n0, n1, n2):
    pid = tl.program_id(0)
    v2 = tl.load((X0 + pid * 1024) + ((((tl.arange(0, 4)[:, None] * 8 + tl.arange(0, 8)[None, :] * 1) * 7 + 20) & 31) + 499))
    v3 = tl.sum(v2)
    v4 = tl.broadcast_to((tl.arange(0, 32)[:, None]).to(tl.int8), [32, 32])
    v5 = tl.dot(v4, v4)
    v8 = tl.reduce(v5, 1, larger)
    v9 = tl.broadcast_to((tl.arange(0, 8)[None, :] * 1 + 5).to(tl.int32), [4, 8])
    k13 = tl.cast(2, tl.int32)
    while (k13 > 0) & (pid > -2):
        if v3 == -1:
            k14 = tl.cast(3, tl.int32)
            for i17 in range(n1 & 3, (n1 & 7) - 1, 3):
                v18 = v9 > v9
                v19 = tl.broadcast_to((tl.arange(0, 4)[:, None]).to(tl.int32), [4, 8])
                v20 = tl.where(v18, v9, v19)
                v21 = v20 == v9
                v22 = v21 & v21
                tl.store((X0 + pid * 1024) + ((((tl.arange(0, 4)[:, None] * 1 + tl.arange(0, 8)[None, :] * 4) * 5 + 1) & 31) + (i17 & 511)), v20, mask=v22)
                v9 = v20
            v25 = tl.reshape(v9, [32])
            v8 = v25
        k13 = k13 - 1
