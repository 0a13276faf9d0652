# kernels/nn/linear_loss.py - cross-entropy of a linear layer without its logits: losses, and gradients of a piece of logits.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl


@triton.jit
def logits_tile(H, W, rows, cols, sh, sw, D: tl.constexpr, BK: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """Products of the BM rows of H and the BN rows of W with these numbers, fp32 [BM, BN]."""
    d = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, D, BK):
        if D % BK == 0:
            h = tl.load(H + (rows * sh)[:, None] + (k + d)[None, :])
            w = tl.load(W + (cols * sw)[:, None] + (k + d)[None, :])
        else:
            inside = (k + d < D)[None, :]
            h = tl.load(H + (rows * sh)[:, None] + (k + d)[None, :], mask=inside, other=0.0)
            w = tl.load(W + (cols * sw)[:, None] + (k + d)[None, :], mask=inside, other=0.0)
        acc = tl.dot(h, tl.trans(w), acc)
    return acc


# tessera: types("H W: *TYPE:16", "TARGETS: *i64:16", "STATE: *fp32:16", "N V span: i32", "sh sw: i32:16")
# tessera: instance linear_loss_fwd_quick_f32(TYPE="fp32", D=192, BK=64, BM=64, BN=64)
# tessera: instance linear_loss_fwd_d64_f32(TYPE="fp32", D=768, BK=32, BM=64, BN=64)
# tessera: instance linear_loss_fwd_paper_bf16(TYPE="bf16", D=2560, BK=64, BM=64, BN=128)
# tessera: cpu(BK=64, BM=64, BN=64)
# tessera: cpu(BK=64, BM=64, BN=32)
# tessera: space(BK=[32, 64], BM=[32, 64, 128], BN=[32, 64, 128], where=BM * BN >= 2048 and BM * BN <= 8192)
# tessera: grid(cdiv(N, BM), cdiv(V, span))
@triton.autotune(
    configs=[
        triton.Config({"BK": 32, "BM": 64, "BN": 128}, num_warps=4, num_stages=3),
        triton.Config({"BK": 64, "BM": 64, "BN": 64}, num_warps=4, num_stages=2),
        triton.Config({"BK": 32, "BM": 128, "BN": 128}, num_warps=8, num_stages=3),
    ],
    key=["D"],
)
@triton.jit(do_not_specialize=["N", "V", "span"])
def linear_loss_fwd(H, W, TARGETS, STATE, N, V, span, sh, sw, D: tl.constexpr, BK: tl.constexpr, BM: tl.constexpr,
                    BN: tl.constexpr):
    """Reduces BM rows and `span` columns of the logits H W^T, H [N, D], W [V, D]. STATE fp32 [3, splits, N], splits = cdiv(V, span), gets
    the maximum, the sum of exp(logit - maximum), and the logit of TARGETS int64 [N]."""
    t0 = tl.program_id(0) * BM
    token0 = tl.program_id(0).to(tl.int64) * BM
    live = t0 + tl.arange(0, BM) < N
    rel = tl.minimum(t0 + tl.arange(0, BM), N - 1) - t0
    first = tl.program_id(1) * span
    count = tl.minimum(span, V - first)
    target = tl.load(TARGETS + token0 + rel) - first
    target = tl.where((target >= 0) & (target < count), target, -1).to(tl.int32)     # -1: not in these columns
    peak = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    picked = tl.zeros((BM,), tl.float32)
    for v in range(0, count, BN):
        col = v + tl.arange(0, BN)
        w = W + (first + v).to(tl.int64) * sw
        s = logits_tile(H + token0 * sh, w, rel, tl.minimum(col, count - 1) - v, sh, sw, D, BK, BM, BN)
        s = tl.where((col < count)[None, :], s, float("-inf"))
        picked += tl.sum(tl.where(col[None, :] == target[:, None], s, 0.0), 1)
        top = tl.maximum(peak, tl.max(s, 1))
        total = total * tl.exp2((peak - top) * 1.4426950408889634)
        total += tl.sum(tl.exp2((s - top[:, None]) * 1.4426950408889634), 1)
        peak = top
    plane = tl.num_programs(1).to(tl.int64) * N
    state = STATE + tl.program_id(1).to(tl.int64) * N + token0
    tl.store(state + rel, peak, mask=live)
    tl.store(state + plane + rel, total, mask=live)
    tl.store(state + 2 * plane + rel, picked, mask=live)


# tessera: instance linear_loss_sum(STATE="*fp32:16", TARGETS="*i64:16", LSE="*fp32:16", LOSS="*fp32:16", N="i32", V="i32", splits="i32", ignore="i32", BC=256)
# tessera: cpu(BC=256)
# tessera: space(BC=[64, 128, 256, 512])
# tessera: grid(cdiv(N, BC))
@triton.jit(do_not_specialize=["N", "V", "splits", "ignore"])
def linear_loss_sum(STATE, TARGETS, LSE, LOSS, N, V, splits, ignore, BC: tl.constexpr):
    """Combines the `splits` parts of linear_loss_fwd of BC rows, in ascending order of columns: LSE and LOSS = lse - logit, fp32 [N].

    A target equal to `ignore` has the loss 0. Other targets outside 0 .. V-1 have the loss NaN.
    """
    first = tl.program_id(0).to(tl.int64) * BC
    at = tl.arange(0, BC)
    live = at < tl.minimum(BC, N - tl.program_id(0) * BC)
    plane = splits.to(tl.int64) * N
    state = STATE + first
    peak = tl.full((BC,), float("-inf"), tl.float32)
    total = tl.zeros((BC,), tl.float32)
    picked = tl.zeros((BC,), tl.float32)
    for split in range(0, splits):
        its = tl.load(state + at, mask=live, other=0.0)
        top = tl.maximum(peak, its)
        total = total * tl.exp2((peak - top) * 1.4426950408889634)
        total += tl.load(state + plane + at, mask=live, other=1.0) * tl.exp2((its - top) * 1.4426950408889634)
        picked += tl.load(state + 2 * plane + at, mask=live, other=0.0)
        peak = top
        state += N
    lse = peak + tl.log(total)
    target = tl.load(TARGETS + first + at, mask=live, other=0)
    loss = tl.where((target >= 0) & (target < V), lse - picked, float("nan"))
    tl.store(LSE + first + at, lse, mask=live)
    tl.store(LOSS + first + at, tl.where(target == ignore, 0.0, loss), mask=live)


# tessera: types("H W DL: *TYPE:16", "TARGETS: *i64:16", "LSE GRAD: *fp32:16", "N V ignore: i32", "sh sw sdl: i32:16")
# tessera: instance linear_loss_bwd_quick_f32(TYPE="fp32", D=192, BK=64, BM=64, BN=64)
# tessera: instance linear_loss_bwd_d64_f32(TYPE="fp32", D=768, BK=32, BM=64, BN=64)
# tessera: instance linear_loss_bwd_paper_bf16(TYPE="bf16", D=2560, BK=64, BM=64, BN=128)
# tessera: cpu(BK=64, BM=64, BN=64)
# tessera: cpu(BK=64, BM=64, BN=32)
# tessera: space(BK=[32, 64], BM=[32, 64, 128], BN=[32, 64, 128], where=BM * BN >= 2048 and BM * BN <= 8192)
# tessera: grid(cdiv(N, BM) * cdiv(V, BN))
@triton.autotune(
    configs=[
        triton.Config({"BK": 32, "BM": 64, "BN": 128}, num_warps=4, num_stages=3),
        triton.Config({"BK": 64, "BM": 64, "BN": 64}, num_warps=4, num_stages=2),
        triton.Config({"BK": 32, "BM": 128, "BN": 128}, num_warps=8, num_stages=3),
    ],
    key=["D"],
)
@triton.jit(do_not_specialize=["N", "V", "ignore"])
def linear_loss_bwd(H, W, TARGETS, LSE, GRAD, DL, N, V, ignore, sh, sw, sdl, D: tl.constexpr, BK: tl.constexpr,
                    BM: tl.constexpr, BN: tl.constexpr):
    """Computes a BM x BN tile of DL [N, V] = GRAD * (exp(logit - LSE) - [v == target]); rows whose target is `ignore` are 0.

    Consecutive programs take consecutive tiles of rows of H and the same rows of W, so that W stays in a cache.
    """
    tiles = tl.cdiv(N, BM)
    tile = tl.program_id(0) % tiles
    column = tl.program_id(0) // tiles
    t0 = tile * BM
    token0 = tile.to(tl.int64) * BM
    live = t0 + tl.arange(0, BM) < N
    rel = tl.minimum(t0 + tl.arange(0, BM), N - 1) - t0
    v0 = column * BN
    cols = tl.arange(0, BN)
    w = W + column.to(tl.int64) * BN * sw
    s = logits_tile(H + token0 * sh, w, rel, tl.minimum(v0 + cols, V - 1) - v0, sh, sw, D, BK, BM, BN)
    target = tl.load(TARGETS + token0 + rel)
    scale = tl.where(target == ignore, 0.0, tl.load(GRAD + token0 + rel))
    p = tl.exp2((s - tl.load(LSE + token0 + rel)[:, None]) * 1.4426950408889634)
    hit = tl.where((target >= v0) & (target < V), target - v0, -1).to(tl.int32)
    dl = (p - tl.where(cols[None, :] == hit[:, None], 1.0, 0.0)) * scale[:, None]
    out = DL + token0 * sdl + column.to(tl.int64) * BN
    tl.store(out + (rel * sdl)[:, None] + cols[None, :], dl.to(DL.dtype.element_ty),
             mask=live[:, None] & (v0 + cols < V)[None, :])
