import triton
import triton.language as tl


@triton.jit
def matmul_block_pointers(A, B, BIAS, C, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
                          BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid_m, pid_n = tl.program_id(0), tl.program_id(1)
    a = tl.make_block_ptr(base=A, shape=(M, K), strides=(stride_am, stride_ak), offsets=(pid_m * BM, 0),
                          block_shape=(BM, BK), order=(1, 0))
    b = tl.make_block_ptr(base=B, shape=(K, N), strides=(stride_bk, stride_bn), offsets=(0, pid_n * BN),
                          block_shape=(BK, BN), order=(1, 0))
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, K, BK):
        x = tl.load(a, boundary_check=(0, 1), padding_option="zero")
        y = tl.load(b, boundary_check=(0, 1), padding_option="zero")
        acc += tl.dot(x, y)
        a = tl.advance(a, (0, BK))
        b = tl.advance(b, (BK, 0))
    if BIAS is not None:
        n = pid_n * BN + tl.arange(0, BN)
        acc += tl.load(BIAS + n, mask=n < N, other=0.0)[None, :]
    c = tl.make_block_ptr(base=C, shape=(M, N), strides=(stride_cm, stride_cn), offsets=(pid_m * BM, pid_n * BN),
                          block_shape=(BM, BN), order=(1, 0))
    tl.store(c, acc.to(C.dtype.element_ty), boundary_check=(0, 1))
