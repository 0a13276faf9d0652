# kernels/tutorials/matmul.py - C = A @ B with masks, program grouping for the L2 cache, and an activation.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl


@triton.jit
def leaky(x):
    return tl.where(x >= 0, x, 0.01 * x)


# tessera: types("A B C: *TYPE:16", "M N K sam sbk scm: i32:16")
# tessera: instance matmul_f16(TYPE="fp16", BM=64, BN=64, BK=32, ROWS=4, LEAKY=1)
# tessera: instance matmul_f32(TYPE="fp32", BM=64, BN=64, BK=32, ROWS=4, LEAKY=0)
@triton.jit
def matmul(A, B, C, M, N, K, sam, sbk, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ROWS: tl.constexpr,
           LEAKY: tl.constexpr):
    """Computes one BM x BN tile of C. Programs walk ROWS rows of tiles at a time, so that tiles of B stay in the cache.

    Grid: (cdiv(M, BM) * cdiv(N, BN)).
    """
    pid = tl.program_id(0)
    tiles_m = tl.cdiv(M, BM)
    tiles_n = tl.cdiv(N, BN)
    band = pid // (ROWS * tiles_n)
    height = tl.minimum(tiles_m - band * ROWS, ROWS)
    m = (band * ROWS + pid % (ROWS * tiles_n) % height) * BM + tl.arange(0, BM)
    column = pid % (ROWS * tiles_n) // height
    tl.assume(column >= 0)  # or n % N had a sign, and no vectors of columns could be loaded
    n = column * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a = A + (m % M)[:, None] * sam + k[None, :]
    b = B + k[:, None] * sbk + (n % N)[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for step in range(0, tl.cdiv(K, BK)):
        left = K - step * BK
        acc = tl.dot(tl.load(a, mask=k[None, :] < left, other=0.0), tl.load(b, mask=k[:, None] < left, other=0.0), acc)
        a += BK
        b += BK * sbk
    if LEAKY:
        acc = leaky(acc)
    tl.store(C + m[:, None] * scm + n[None, :], acc.to(C.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))
