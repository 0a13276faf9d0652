# kernels/nsa/compress_fwd.py - compressed tokens: the mean, or a depthwise convolution, of blocks of tokens.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl
from kernels.tiles import find_tile, load_filters, load_rows


@triton.jit
def compress_tile(X, W, OUT, head, token, row, count, sxt, sxh, sot, soh, L: tl.constexpr, STRIDE: tl.constexpr,
                  D: tl.constexpr, DP: tl.constexpr, CONV: tl.constexpr, BC: tl.constexpr):
    """min(BC, count) compressed tokens of one head, of X from `token` on, to OUT from `row` on."""
    TWICE: tl.constexpr = STRIDE < L and L <= 2 * STRIDE     # a token lies in two blocks, and is read once for both
    live = tl.arange(0, BC) < count
    rel = tl.minimum(tl.arange(0, BC), count - 1)            # rows past the end repeat the last and are not stored
    d = tl.arange(0, DP)
    acc = tl.zeros((BC, DP), tl.float32)
    if TWICE:
        # Of the STRIDE tokens from each block's first one on what they give to it, and to the block before; the last block's
        # second half lies behind the tile.
        part = tl.zeros((BC, DP), tl.float32)
        rest = tl.zeros((DP,), tl.float32)
        tokens = X + token.to(tl.int64) * sxt + head * sxh
        final = (count - 1) * STRIDE + L - 1
        for a in range(0, STRIDE):
            x = load_rows(tokens, tl.minimum(tl.arange(0, BC) * STRIDE + a, final) * sxt, D, DP).to(tl.float32)
            behind = tl.minimum(BC * STRIDE + a, final) * sxt
            y = tl.load(tokens + behind + d, mask=d < D, other=0.0).to(tl.float32)
            if CONV:
                w, v = load_filters(W, a, L, STRIDE, D, DP)
                acc += x * w[None, :]
                part += tl.where(STRIDE + a < L, x * v[None, :], 0.0)
                rest += tl.where(STRIDE + a < L, y * v, 0.0)
            else:
                acc += x
                part += tl.where(STRIDE + a < L, x, 0.0)
                rest += tl.where(STRIDE + a < L, y, 0.0)
        following = tl.broadcast_to(tl.minimum(tl.arange(0, BC) + 1, BC - 1)[:, None], (BC, DP))
        acc += tl.where((tl.arange(0, BC) < BC - 1)[:, None], tl.gather(part, following, 0), rest[None, :])
    else:
        for a in range(0, L):
            token0 = (token + a).to(tl.int64)
            x = load_rows(X + token0 * sxt + head * sxh, rel * STRIDE * sxt, D, DP).to(tl.float32)
            if CONV:
                w = tl.load(W + a * D + d, mask=d < D, other=0.0).to(tl.float32)
                acc += x * w[None, :]
            else:
                acc += x
    if not CONV:
        acc = acc * (1.0 / L)
    out = OUT + row.to(tl.int64) * sot + head * soh
    tl.store(out + (rel * sot)[:, None] + d[None, :], acc.to(OUT.dtype.element_ty),
             mask=live[:, None] & (d[None, :] < D))


# tessera: types("X W OUT: *TYPE:16", "CU CU_CMP: *i32:16", "nseq: i32", "s*: i32:16")
# tessera: instance compress_fwd_quick_f32(TYPE="fp32", L=16, STRIDE=8, D=32, DP=32, CONV=1, BC=32)
# tessera: instance compress_fwd_d64_f32(TYPE="fp32", L=32, STRIDE=16, D=64, DP=64, CONV=1, BC=32)
# tessera: instance compress_fwd_paper_bf16(TYPE="bf16", L=32, STRIDE=16, D=192, DP=256, CONV=1, BC=32)
# tessera: cpu(BC=16)
# tessera: cpu(BC=32)
# tessera: space(BC=[8, 16, 32, 64])
# tessera: grid(TC // BC + B, H)
@triton.autotune(configs=[triton.Config({"BC": 32}, num_warps=4)], key=["D"])
@triton.jit(do_not_specialize=["nseq"])
def compress_fwd(X, W, OUT, CU, CU_CMP, nseq, sxt, sxh, sot, soh, L: tl.constexpr, STRIDE: tl.constexpr,
                 D: tl.constexpr, DP: tl.constexpr, CONV: tl.constexpr, BC: tl.constexpr):
    """Computes BC compressed tokens of one head: out_i = sum over a < L of w[a,:] * x[i*STRIDE + a,:], X [T, Hkv, D], OUT [Tc, Hkv, D].
    CONV=1: W [L, D] is contiguous. CONV=0: w = 1/L; pass X as W."""
    b, cmp_start, count, i0 = find_tile(CU_CMP, nseq, tl.program_id(0), BC)
    head = tl.program_id(1).to(tl.int64)
    start = tl.load(CU + b)
    if i0 >= count:
        return
    compress_tile(X, W, OUT, head, start + i0 * STRIDE, cmp_start + i0, count - i0, sxt, sxh, sot, soh, L, STRIDE, D, DP, CONV, BC)


# tessera: types("K V WK WV KOUT VOUT: *TYPE:16", "CU CU_CMP: *i32:16", "nseq: i32", "s*: i32:16")
# tessera: instance compress_pair_fwd_quick_f32(TYPE="fp32", L=16, STRIDE=8, D=32, DP=32, E=32, EP=32, KCONV=1, VCONV=1, BC=32)
# tessera: instance compress_pair_fwd_d64_f32(TYPE="fp32", L=32, STRIDE=16, D=64, DP=64, E=64, EP=64, KCONV=1, VCONV=1, BC=32)
# tessera: instance compress_pair_fwd_paper_bf16(TYPE="bf16", L=32, STRIDE=16, D=192, DP=256, E=128, EP=128, KCONV=1, VCONV=1, BC=32)
# tessera: cpu(BC=16)
# tessera: cpu(BC=32)
# tessera: space(BC=[8, 16, 32, 64])
# tessera: grid(TC // BC + B, 2 * H)
@triton.autotune(configs=[triton.Config({"BC": 32}, num_warps=4)], key=["D", "E"])
@triton.jit(do_not_specialize=["nseq"])
def compress_pair_fwd(K, V, WK, WV, KOUT, VOUT, CU, CU_CMP, nseq, skt, skh, svt, svh, skot, skoh, svot, svoh,
                      L: tl.constexpr, STRIDE: tl.constexpr, D: tl.constexpr, DP: tl.constexpr, E: tl.constexpr, EP: tl.constexpr,
                      KCONV: tl.constexpr, VCONV: tl.constexpr, BC: tl.constexpr):
    """Runs compress_fwd of keys in the first half of the heads' programs and of values in the second. The bits are those of compress_fwd."""
    b, cmp_start, count, i0 = find_tile(CU_CMP, nseq, tl.program_id(0), BC)
    heads = tl.num_programs(1) // 2
    head = (tl.program_id(1) % heads).to(tl.int64)
    start = tl.load(CU + b)
    if i0 >= count:
        return
    if tl.program_id(1) < heads:
        compress_tile(K, WK, KOUT, head, start + i0 * STRIDE, cmp_start + i0, count - i0, skt, skh, skot, skoh, L, STRIDE, D, DP, KCONV, BC)
    else:
        compress_tile(V, WV, VOUT, head, start + i0 * STRIDE, cmp_start + i0, count - i0, svt, svh, svot, svoh, L, STRIDE, E, EP, VCONV, BC)
