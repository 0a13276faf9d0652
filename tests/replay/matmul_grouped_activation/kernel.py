import triton
import triton.language as tl


@triton.jit
def leaky(x):
    return tl.where(x >= 0, x, 0.01 * x)


@triton.jit
def matmul_grouped(A, B, C, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
                   BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
                   ACTIVATION: tl.constexpr):
    """Neighbouring programs share rows of A and columns of B: they go through GROUP rows of blocks at a time."""
    pid = tl.program_id(axis=0)
    blocks_m, blocks_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    in_group = GROUP * blocks_n
    first = pid // in_group * GROUP
    rows = min(blocks_m - first, GROUP)
    pid_m = first + pid % in_group % rows
    pid_n = pid % in_group // rows
    m = (pid_m * BM + tl.arange(0, BM)) % M
    n = (pid_n * BN + tl.arange(0, BN)) % N
    k = tl.arange(0, BK)
    a = A + m[:, None] * stride_am + k[None, :] * stride_ak
    b = B + k[:, None] * stride_bk + n[None, :] * stride_bn
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(0, tl.cdiv(K, BK)):
        left = K - step * BK
        acc = tl.dot(tl.load(a, mask=k[None, :] < left, other=0.0), tl.load(b, mask=k[:, None] < left, other=0.0), acc)
        a += BK * stride_ak
        b += BK * stride_bk
    if ACTIVATION == "leaky":
        acc = leaky(acc)
    c = acc.to(tl.float16)
    m = pid_m * BM + tl.arange(0, BM)
    n = pid_n * BN + tl.arange(0, BN)
    tl.store(C + stride_cm * m[:, None] + stride_cn * n[None, :], c, mask=(m[:, None] < M) & (n[None, :] < N))
