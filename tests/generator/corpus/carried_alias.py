import tessera
import tessera.language as tl


@tessera.jit
def add(a, b):
    return a + b


@tessera.jit
def larger(a, b):
    return tl.maximum(a, b)


@tessera.jit
def kernel(X0, X1, X2, C, O4, O5, O6, O7, O8, O9, O10, O11, n0):
    pid = tl.program_id(0)
    v1 = ((tl.arange(0, 16)) % 8).to(tl.bfloat16)
    v2 = tl.full([16], 1, tl.bfloat16)
    v3 = tl.minimum(v1, v2).to(tl.bfloat16)
    v4 = tl.reshape(v3, [16])
    k20 = tl.cast(4, tl.int32)
    while (k20 > 0) & (pid > -2):
        v4 = v3
        v3 = v1
        k20 = k20 - 1
    tl.store(O9 + pid * 2048 + tl.arange(0, 16) * 1, v4)
