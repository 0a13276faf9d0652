# kernels/nsa/compress_bwd.py - compressed tokens, backward: dx gathers, dw sums in two stages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl
from kernels.tiles import find_tile, load_filters, load_live_rows, load_rows


@triton.jit
def gather_rows(DOUT, W, DX, head, start, length, t0, cmp_start, count, sot, soh, sxt, sxh, L: tl.constexpr, STRIDE: tl.constexpr,
                D: tl.constexpr, DP: tl.constexpr, CONV: tl.constexpr, BT: tl.constexpr):
    """gather_blocks, token by token: each reads the blocks that hold it."""
    tl.assume(t0 >= 0)                                   # divisions of positions need no sign
    rel = tl.arange(0, BT)
    t = t0 + rel
    d = tl.arange(0, DP)
    newest = t // STRIDE                                 # the last block that starts at or before the token
    acc = tl.zeros((BT, DP), tl.float32)
    reach = tl.minimum(count, 1) * ((L + STRIDE - 1) // STRIDE)
    first = cmp_start.to(tl.int64)
    for m in range(0, reach):
        i = newest - m
        a = t - i * STRIDE                               # the token's place in block i
        holds = (i >= 0) & (i < count) & (a < L)
        block = tl.minimum(tl.maximum(i, 0), count - 1)
        g = load_rows(DOUT + first * sot + head * soh, block * sot, D, DP).to(tl.float32)
        if CONV:
            g = g * load_rows(W, tl.minimum(a, L - 1) * D, D, DP).to(tl.float32)
        acc += tl.where(holds[:, None], g, 0.0)
    if not CONV:
        acc = acc * (1.0 / L)
    out = DX + (start + t0).to(tl.int64) * sxt + head * sxh
    tl.store(out + (rel * sxt)[:, None] + d[None, :], acc.to(DX.dtype.element_ty),
             mask=(t < length)[:, None] & (d[None, :] < D))


@triton.jit
def shifted(x, first, N: tl.constexpr, DP: tl.constexpr):
    """Rows first, x[0] .. x[N-2]."""
    row = tl.arange(0, N)
    before = tl.gather(x, tl.broadcast_to(tl.maximum(row - 1, 0)[:, None], (N, DP)), 0)
    return tl.where((row > 0)[:, None], before, first[None, :])


@triton.jit
def scatter_blocks(DOUT, W, DX, head, start, length, t0, cmp_start, count, sot, soh, sxt, sxh, L: tl.constexpr, STRIDE: tl.constexpr,
                   D: tl.constexpr, DP: tl.constexpr, CONV: tl.constexpr, N: tl.constexpr):
    """gather_blocks of N * STRIDE tokens where a token lies in two blocks at most: N blocks at once, and the one before."""
    tl.assume(t0 >= 0)                                   # the division needs no sign
    i0 = t0 // STRIDE
    row = tl.arange(0, N)
    d = tl.arange(0, DP)
    blocks = DOUT + cmp_start.to(tl.int64) * sot + head * soh
    g = load_live_rows(blocks + i0.to(tl.int64) * sot, row * sot, i0 + row < count, D, DP).to(tl.float32)
    first = tl.load(blocks + (i0 - 1).to(tl.int64) * sot + d, mask=(d < D) & (i0 > 0) & (i0 <= count), other=0.0).to(tl.float32)
    before = shifted(g, first, N, DP)
    out = DX + (start + t0).to(tl.int64) * sxt + head * sxh
    for a in range(0, STRIDE):
        if CONV:
            w, v = load_filters(W, a, L, STRIDE, D, DP)
            x = g * w[None, :] + tl.where(STRIDE + a < L, before * v[None, :], 0.0)
        else:
            x = (g + tl.where(STRIDE + a < L, before, 0.0)) * (1.0 / L)
        tl.store(out + ((row * STRIDE + a) * sxt)[:, None] + d[None, :], x.to(DX.dtype.element_ty),
                 mask=(t0 + row * STRIDE + a < length)[:, None] & (d[None, :] < D))


@triton.jit
def gather_blocks(DOUT, W, DX, head, start, length, t0, cmp_start, count, sot, soh, sxt, sxh, L: tl.constexpr, STRIDE: tl.constexpr,
                  D: tl.constexpr, DP: tl.constexpr, CONV: tl.constexpr, BT: tl.constexpr):
    """dx of the tokens t0 .. t0+BT-1 of a sequence of `length` tokens and `count` blocks, one head."""
    # In tiles of many blocks those that hold a token are two, and of each block a gradient is read once.
    TWICE: tl.constexpr = STRIDE < L and L <= 2 * STRIDE and BT % STRIDE == 0 and BT >= 8 * STRIDE
    if TWICE:
        scatter_blocks(DOUT, W, DX, head, start, length, t0, cmp_start, count, sot, soh, sxt, sxh, L, STRIDE, D, DP, CONV, BT // STRIDE)
    else:
        gather_rows(DOUT, W, DX, head, start, length, t0, cmp_start, count, sot, soh, sxt, sxh, L, STRIDE, D, DP, CONV, BT)


# tessera: types("DOUT W DX: *TYPE:16", "CU CU_CMP: *i32:16", "nseq: i32", "s*: i32:16")
# tessera: instance compress_bwd_dx_quick_f32(TYPE="fp32", L=16, STRIDE=8, D=32, DP=32, CONV=1, BT=32)
# tessera: instance compress_bwd_dx_d64_f32(TYPE="fp32", L=32, STRIDE=16, D=64, DP=64, CONV=1, BT=32)
# tessera: instance compress_bwd_dx_paper_bf16(TYPE="bf16", L=32, STRIDE=16, D=192, DP=256, CONV=1, BT=512)
# tessera: cpu(BT=32)
# tessera: cpu(BT=64)
# tessera: space(BT=[16, 32, 64, 128, 256, 512])
# tessera: grid(T // BT + B, H)
@triton.autotune(configs=[triton.Config({"BT": 512}, num_warps=4)], key=["D"])
@triton.jit(do_not_specialize=["nseq"])
def compress_bwd_dx(DOUT, W, DX, CU, CU_CMP, nseq, sot, soh, sxt, sxh, L: tl.constexpr, STRIDE: tl.constexpr,
                    D: tl.constexpr, DP: tl.constexpr, CONV: tl.constexpr, BT: tl.constexpr):
    """Computes dx of BT tokens of one head: each token gathers from the at most ceil(L/STRIDE) blocks that contain it."""
    b, start, length, t0 = find_tile(CU, nseq, tl.program_id(0), BT)
    head = tl.program_id(1).to(tl.int64)
    if t0 >= length:
        return
    cmp_start = tl.load(CU_CMP + b)
    gather_blocks(DOUT, W, DX, head, start, length, t0, cmp_start, tl.load(CU_CMP + b + 1) - cmp_start, sot, soh, sxt, sxh,
                  L, STRIDE, D, DP, CONV, BT)


# tessera: types("KOUT VOUT WK WV DK DV: *TYPE:16", "CU CU_CMP: *i32:16", "nseq: i32", "s*: i32:16")
# tessera: instance compress_pair_bwd_dx_quick_f32(TYPE="fp32", L=16, STRIDE=8, D=32, DP=32, E=32, EP=32, KCONV=1, VCONV=1, BT=32)
# tessera: instance compress_pair_bwd_dx_d64_f32(TYPE="fp32", L=32, STRIDE=16, D=64, DP=64, E=64, EP=64, KCONV=1, VCONV=1, BT=32)
# tessera: instance compress_pair_bwd_dx_paper_bf16(TYPE="bf16", L=32, STRIDE=16, D=192, DP=256, E=128, EP=128, KCONV=1, VCONV=1, BT=512)
# tessera: cpu(BT=32)
# tessera: cpu(BT=64)
# tessera: space(BT=[16, 32, 64, 128, 256, 512])
# tessera: grid(T // BT + B, 2 * H)
@triton.autotune(configs=[triton.Config({"BT": 512}, num_warps=4)], key=["D", "E"])
@triton.jit(do_not_specialize=["nseq"])
def compress_pair_bwd_dx(KOUT, VOUT, WK, WV, DK, DV, CU, CU_CMP, nseq, skot, skoh, svot, svoh, sdkt, sdkh, sdvt, sdvh,
                         L: tl.constexpr, STRIDE: tl.constexpr, D: tl.constexpr, DP: tl.constexpr, E: tl.constexpr, EP: tl.constexpr,
                         KCONV: tl.constexpr, VCONV: tl.constexpr, BT: tl.constexpr):
    """Runs compress_bwd_dx of keys in the first half of the heads' programs and of values in the second. KOUT and VOUT are gradients of
    compressed rows."""
    b, start, length, t0 = find_tile(CU, nseq, tl.program_id(0), BT)
    heads = tl.num_programs(1) // 2
    head = (tl.program_id(1) % heads).to(tl.int64)
    if t0 >= length:
        return
    cmp_start = tl.load(CU_CMP + b)
    count = tl.load(CU_CMP + b + 1) - cmp_start
    if tl.program_id(1) < heads:
        gather_blocks(KOUT, WK, DK, head, start, length, t0, cmp_start, count, skot, skoh, sdkt, sdkh, L, STRIDE, D, DP, KCONV, BT)
    else:
        gather_blocks(VOUT, WV, DV, head, start, length, t0, cmp_start, count, svot, svoh, sdvt, sdvh, L, STRIDE, E, EP, VCONV, BT)


# tessera: types("X DOUT: *TYPE:16", "PART: *fp32:16", "CU CU_CMP: *i32:16", "nseq: i32", "s*: i32:16")
# tessera: instance compress_bwd_dw_quick_f32(TYPE="fp32", L=16, STRIDE=8, D=32, DP=32, BC=32)
# tessera: instance compress_bwd_dw_d64_f32(TYPE="fp32", L=32, STRIDE=16, D=64, DP=64, BC=32)
# tessera: instance compress_bwd_dw_paper_bf16(TYPE="bf16", L=32, STRIDE=16, D=192, DP=256, BC=32)
# tessera: cpu(BC=32)
# tessera: cpu(BC=64)
@triton.jit(do_not_specialize=["nseq"])
def compress_bwd_dw(X, DOUT, PART, CU, CU_CMP, nseq, sxt, sxh, sot, soh, L: tl.constexpr, STRIDE: tl.constexpr,
                    D: tl.constexpr, DP: tl.constexpr, BC: tl.constexpr):
    """Computes a row of PART fp32 [Hkv * tiles, L*D], dw[a,:] = sum over BC blocks i of dout[i,:] * x[i*STRIDE + a,:], or
    zeros if the program has no block. Then reduce_rows(PART, DW, Hkv * tiles, L*D).

    Grid: (tiles(Tc, BC), Hkv).
    """
    b, cmp_start, count, i0 = find_tile(CU_CMP, nseq, tl.program_id(0), BC)
    head = tl.program_id(1).to(tl.int64)
    start = tl.load(CU + b)
    d = tl.arange(0, DP)
    part = tl.program_id(1) * tl.num_programs(0) + tl.program_id(0)
    out = PART + part.to(tl.int64) * L * D
    if i0 >= count:
        for a in range(0, L):
            tl.store(out + a * D + d, tl.zeros((DP,), tl.float32), mask=d < D)
        return
    live = i0 + tl.arange(0, BC) < count
    rel = tl.minimum(tl.arange(0, BC), count - 1 - i0)
    g = load_rows(DOUT + (cmp_start + i0).to(tl.int64) * sot + head * soh, rel * sot, D, DP).to(tl.float32)
    g = tl.where(live[:, None], g, 0.0)
    TWICE: tl.constexpr = STRIDE < L and L <= 2 * STRIDE     # a token lies in two blocks, and is read once for both
    if TWICE:
        tokens = X + (start + i0 * STRIDE).to(tl.int64) * sxt + head * sxh
        final = (count - 1 - i0) * STRIDE + L - 1
        before = shifted(g, tl.zeros((DP,), tl.float32), BC, DP)
        # The last block's second half lies behind the tile.
        whole = tl.sum(tl.where((tl.arange(0, BC) == BC - 1)[:, None], g, 0.0), 0)
        last = tl.minimum(count - 1 - i0, BC - 1)
        for a in range(0, STRIDE):
            x = load_rows(tokens, tl.minimum(tl.arange(0, BC) * STRIDE + a, final) * sxt, D, DP).to(tl.float32)
            tl.store(out + a * D + d, tl.sum(g * x, 0), mask=d < D)
            behind = tl.minimum(BC * STRIDE + a, final) * sxt
            y = tl.load(tokens + behind + d, mask=(d < D) & (last == BC - 1), other=0.0).to(tl.float32)
            tl.store(out + (STRIDE + a) * D + d, tl.sum(before * x, 0) + whole * y, mask=(d < D) & (STRIDE + a < L))
    else:
        for a in range(0, L):
            token0 = (start + i0 * STRIDE + a).to(tl.int64)
            x = load_rows(X + token0 * sxt + head * sxh, rel * STRIDE * sxt, D, DP).to(tl.float32)
            tl.store(out + a * D + d, tl.sum(g * x, 0), mask=d < D)
