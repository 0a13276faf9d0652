# kernels/nn/rope.py - rotary position embedding of interleaved pairs; the backward is the inverse rotation.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl


# tessera: types("X Y: *TYPE:16", "COS SIN: *fp32:16", "CU: *i32:16", "pos0: i32", "s*: i32:16")
# tessera: instance rope_quick_f32(TYPE="fp32", D=32, R=32, RH=16, RT=1, INVERSE=0, BT=32)
# tessera: instance rope_d64_f32(TYPE="fp32", D=64, R=64, RH=32, RT=1, INVERSE=0, BT=32)
# tessera: instance rope_paper_bf16(TYPE="bf16", D=192, R=192, RH=128, RT=1, INVERSE=0, BT=32)
# tessera: cpu(BT=32)
# tessera: space(BT=[4, 8, 16, 32, 64, 128])
@triton.jit(do_not_specialize=["pos0"])
def rope(X, Y, COS, SIN, CU, pos0, sxt, sxh, syt, syh, D: tl.constexpr, R: tl.constexpr, RH: tl.constexpr,
         RT: tl.constexpr, INVERSE: tl.constexpr, BT: tl.constexpr):
    """Rotates the pairs (2i, 2i+1) of the first R channels of BT tokens of one head by COS and SIN, fp32 [positions, R/2], row = position +
    pos0. Y may be X.

    RH and RT are the next powers of two of R/2 and D-R. INVERSE=1 rotates back (backward pass). For compressed keys pass CU_CMP, and tables
    whose row i has the angles of position i*d. Grid: (H, cdiv(longest sequence, BT), sequences).
    """
    head = tl.program_id(0).to(tl.int64)                 # heads of a token lie side by side
    t0 = tl.program_id(1) * BT
    start = tl.load(CU + tl.program_id(2))
    length = tl.load(CU + tl.program_id(2) + 1) - start
    if t0 >= length:
        return
    rel = tl.arange(0, BT)
    live = t0 + rel < length
    token0 = (start + t0).to(tl.int64)
    x = X + token0 * sxt + head * sxh + (rel * sxt)[:, None]
    y = Y + token0 * syt + head * syh + (rel * syt)[:, None]
    pair = tl.arange(0, RH)[None, :]
    keep = live[:, None] & (pair < R // 2)
    angle = ((pos0 + t0 + rel) * (R // 2))[:, None] + pair
    c = tl.load(COS + angle, mask=keep, other=0.0)
    s = tl.load(SIN + angle, mask=keep, other=0.0)
    if INVERSE:
        s = -s
    both = tl.arange(0, 2 * RH)[None, :]
    turned = live[:, None] & (both < R)
    # Whole rows are loaded and stored; a pair lies in one thread.
    even, odd = tl.split(tl.reshape(tl.load(x + both, mask=turned, other=0.0).to(tl.float32), (BT, RH, 2)))
    # fma says which product is rounded: the same bits whatever the strides are.
    rotated = tl.reshape(tl.join(tl.fma(even, c, -odd * s), tl.fma(even, s, odd * c)), (BT, 2 * RH))
    tl.debug_barrier()  # Y may be X, and one thread stores what another one has loaded
    tl.store(y + both, rotated.to(Y.dtype.element_ty), mask=turned)
    if R < D:
        rest = R + tl.arange(0, RT)[None, :]
        also = live[:, None] & (rest < D)
        tl.store(y + rest, tl.load(x + rest, mask=also, other=0.0).to(Y.dtype.element_ty), mask=also)
