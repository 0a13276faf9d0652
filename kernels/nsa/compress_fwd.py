# kernels/nsa/compress_fwd.py - compressed tokens: the mean, or a depthwise convolution, of blocks of tokens.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl
from kernels.tiles import find_tile


@triton.jit
def load_rows(ptr, offs, N: tl.constexpr, NP: tl.constexpr):
    """Rows that start at ptr + offs, N elements each; columns N .. NP-1 read as zero."""
    cols = tl.arange(0, NP)
    if N == NP:
        x = tl.load(ptr + offs[:, None] + cols[None, :])
    else:
        x = tl.load(ptr + offs[:, None] + cols[None, :], mask=cols[None, :] < N, other=0.0)
    return x


# tessera: types("X W OUT: *TYPE:16", "CU CU_CMP: *i32:16", "nseq: i32", "s*: i32:16")
# tessera: instance compress_fwd_quick_f32(TYPE="fp32", L=16, STRIDE=8, D=32, DP=32, CONV=1, BC=32)
# tessera: instance compress_fwd_d64_f32(TYPE="fp32", L=32, STRIDE=16, D=64, DP=64, CONV=1, BC=32)
# tessera: instance compress_fwd_paper_bf16(TYPE="bf16", L=32, STRIDE=16, D=192, DP=256, CONV=1, BC=32)
# tessera: cpu(BC=16)
# tessera: cpu(BC=32)
# tessera: space(BC=[8, 16, 32, 64])
# tessera: grid(TC // BC + B, H)
@triton.jit(do_not_specialize=["nseq"])
def compress_fwd(X, W, OUT, CU, CU_CMP, nseq, sxt, sxh, sot, soh, L: tl.constexpr, STRIDE: tl.constexpr,
                 D: tl.constexpr, DP: tl.constexpr, CONV: tl.constexpr, BC: tl.constexpr):
    """BC compressed tokens of one head: out_i = sum over a < L of w[a,:] * x[i*STRIDE + a,:]; w = 1/L without CONV."""
    b, cmp_start, count, i0 = find_tile(CU_CMP, nseq, tl.program_id(0), BC)
    head = tl.program_id(1).to(tl.int64)
    start = tl.load(CU + b)
    if i0 >= count:
        return
    live = i0 + tl.arange(0, BC) < count
    rel = tl.minimum(tl.arange(0, BC), count - 1 - i0)       # rows past the end repeat the last and are not stored
    d = tl.arange(0, DP)
    acc = tl.zeros((BC, DP), tl.float32)
    for a in range(0, L):
        token0 = (start + i0 * STRIDE + a).to(tl.int64)
        x = load_rows(X + token0 * sxt + head * sxh, rel * STRIDE * sxt, D, DP).to(tl.float32)
        if CONV:
            w = tl.load(W + a * D + d, mask=d < D, other=0.0).to(tl.float32)
            acc += x * w[None, :]
        else:
            acc += x
    if not CONV:
        acc = acc * (1.0 / L)
    out = OUT + (cmp_start + i0).to(tl.int64) * sot + head * soh
    tl.store(out + (rel * sot)[:, None] + d[None, :], acc.to(OUT.dtype.element_ty),
             mask=live[:, None] & (d[None, :] < D))
