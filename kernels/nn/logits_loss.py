# kernels/nn/logits_loss.py - cross-entropy of logits that are kept, and its gradient in their memory.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl


# tessera: types("LOGITS: *TYPE:16", "TARGETS: *i64:16", "LSE LOSS: *fp32:16", "N V ignore: i32", "sl: i32:16")
# tessera: instance logits_loss_fwd_f32(TYPE="fp32", BR=1, BC=2048)
# tessera: instance logits_loss_fwd_bf16(TYPE="bf16", BR=1, BC=4096)
# tessera: cpu(BR=1, BC=256)
# tessera: cpu(BR=4, BC=64)
# tessera: space(BR=[1, 2, 4], BC=[64, 256, 1024, 2048, 4096, 8192], where=BR * BC <= 8192)
# tessera: grid(cdiv(N, BR))
@triton.autotune(
    configs=[
        triton.Config({"BR": 1, "BC": 4096}, num_warps=8),
        triton.Config({"BR": 1, "BC": 2048}, num_warps=4),
        triton.Config({"BR": 1, "BC": 8192}, num_warps=8),
    ],
    key=["V"],
)
@triton.jit(do_not_specialize=["N", "V", "ignore"])
def logits_loss_fwd(LOGITS, TARGETS, LSE, LOSS, N, V, ignore, sl, BR: tl.constexpr, BC: tl.constexpr):
    """Reads BR rows of LOGITS [N, sl] once, columns 0 .. V-1, and computes LSE = ln(sum exp(logit)) and LOSS = LSE - logit of TARGETS
    int64 [N], both fp32 [N], with a maximum and a sum that follow the columns.

    The row stride sl is the next multiple of 16 from V on; columns from V on may hold anything. A target equal to `ignore` has the loss
    0. Other targets outside 0 .. V-1 have the loss NaN.
    """
    row0 = tl.program_id(0) * BR
    live = row0 + tl.arange(0, BR) < N
    rel = tl.minimum(row0 + tl.arange(0, BR), N - 1) - row0
    first = tl.program_id(0).to(tl.int64) * BR
    x = LOGITS + first * sl
    peak = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    for v in range(0, V, BC):
        col = v + tl.arange(0, BC)
        # The mask changes at a multiple of 16, so that loads take 16 bytes.
        s = tl.load(x + (rel * sl)[:, None] + col[None, :], mask=(col < sl)[None, :], other=float("-inf")).to(tl.float32)
        s = tl.where((col < V)[None, :], s, float("-inf"))
        top = tl.maximum(peak, tl.max(s, 1))
        total = total * tl.exp2((peak - top) * 1.4426950408889634)
        total += tl.sum(tl.exp2((s - top[:, None]) * 1.4426950408889634), 1)
        peak = top
    lse = peak + tl.log(total)
    target = tl.load(TARGETS + first + rel)
    known = (target >= 0) & (target < V)
    picked = tl.load(x + rel * sl + tl.where(known, target, 0)).to(tl.float32)
    loss = tl.where(known, lse - picked, float("nan"))
    tl.store(LSE + first + rel, lse, mask=live)
    tl.store(LOSS + first + rel, tl.where(target == ignore, 0.0, loss), mask=live)


# tessera: types("LOGITS: *TYPE:16", "TARGETS: *i64:16", "LSE GRAD: *fp32:16", "N V ignore: i32", "sl: i32:16")
# tessera: instance logits_loss_bwd_f32(TYPE="fp32", BR=1, BC=2048)
# tessera: instance logits_loss_bwd_bf16(TYPE="bf16", BR=1, BC=4096)
# tessera: cpu(BR=1, BC=256)
# tessera: cpu(BR=4, BC=64)
# tessera: space(BR=[1, 2, 4], BC=[64, 256, 1024, 2048, 4096, 8192], where=BR * BC <= 8192)
# tessera: grid(cdiv(N, BR))
@triton.autotune(
    configs=[
        triton.Config({"BR": 1, "BC": 4096}, num_warps=8),
        triton.Config({"BR": 1, "BC": 2048}, num_warps=4),
        triton.Config({"BR": 1, "BC": 8192}, num_warps=8),
    ],
    key=["V"],
    restore_value=["LOGITS"],
)
@triton.jit(do_not_specialize=["N", "V", "ignore"])
def logits_loss_bwd(LOGITS, TARGETS, LSE, GRAD, N, V, ignore, sl, BR: tl.constexpr, BC: tl.constexpr):
    """Replaces BR rows of LOGITS [N, sl], columns 0 .. V-1, by GRAD * (exp(logit - LSE) - [v == target]), and the columns from V on by 0.
    Rows whose target is `ignore` are 0. Shapes are those of logits_loss_fwd, GRAD fp32 [N]."""
    row0 = tl.program_id(0) * BR
    live = row0 + tl.arange(0, BR) < N
    rel = tl.minimum(row0 + tl.arange(0, BR), N - 1) - row0
    first = tl.program_id(0).to(tl.int64) * BR
    x = LOGITS + first * sl
    target = tl.load(TARGETS + first + rel)
    scale = tl.where(target == ignore, 0.0, tl.load(GRAD + first + rel))
    hit = tl.where((target >= 0) & (target < V), target, -1).to(tl.int32)
    lse = tl.load(LSE + first + rel)
    for v in range(0, V, BC):
        col = v + tl.arange(0, BC)
        at = x + (rel * sl)[:, None] + col[None, :]
        s = tl.load(at, mask=(col < sl)[None, :], other=0.0).to(tl.float32)
        p = tl.exp2((s - lse[:, None]) * 1.4426950408889634)
        dl = (p - tl.where(col[None, :] == hit[:, None], 1.0, 0.0)) * scale[:, None]
        dl = tl.where((col < V)[None, :], dl, 0.0)
        tl.store(at, dl.to(LOGITS.dtype.element_ty), mask=live[:, None] & (col < sl)[None, :])
