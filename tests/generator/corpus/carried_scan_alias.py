import tessera
import tessera.language as tl


@tessera.jit
def affine(a, b, c, d):
    return a * c, b * c + d


@tessera.jit
def kernel(X0, X1, X2, C, O4, O5, O6, O7, O8, O9, O10, O11, O12, O13, O14, O15, n0, n1):
    pid = tl.program_id(0)
    v1 = tl.full([32], 6, tl.int32)
    v2, v3 = tl.associative_scan((v1, v1), 0, affine)
    v4 = tl.reshape(v3, [32])
    v6, v7 = tl.associative_scan((v4, v4), 0, affine, reverse=True)
    k8 = tl.cast(2, tl.int32)
    while (k8 > 0) & (n1 > -2):
        k9 = tl.cast(4, tl.int32)
        v3 = v4
        v4 = v7
        k8 = k8 - 1
    tl.store(O10 + pid * 2048 + tl.arange(0, 32) * 1, v3)
