# kernels/nsa/attn_delta.py - delta = sum of dO*O over the value dimension, the shared first step of attention backward.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""delta = sum_e do[t, h, e] * o[t, h, e] with o and do [T, Hq, E] and delta [T, Hq] (FlashAttention 2, algorithm 2)."""
import triton
import triton.language as tl
from kernels.attention.core import Rows
from kernels.tiles import load_rows


# tessera: types("o do: Rows(*TYPE:16, i32:16, i32:16)", "delta: Rows(*fp32:16, i32, 1)", "T: i32")
# tessera: instance attn_delta_quick_f32(TYPE="fp32", E=32, EP=32, BT=32)
# tessera: instance attn_delta_d64_f32(TYPE="fp32", E=64, EP=64, BT=32)
# tessera: instance attn_delta_paper_bf16(TYPE="bf16", delta="Rows(*fp32:16, i32:16, 1)", E=128, EP=128, BT=32)
# tessera: cpu(BT=64)
# tessera: space(BT=[16, 32, 64, 128, 256])
@triton.jit(do_not_specialize=["T"])
def attn_delta(o: Rows, do: Rows, delta: Rows, T, E: tl.constexpr, EP: tl.constexpr, BT: tl.constexpr):
    """Computes delta of BT tokens of one query head.

    Grid: (cdiv(T, BT), Hq).
    """
    t0 = tl.program_id(0) * BT
    head = tl.program_id(1).to(tl.int64)
    t = t0 + tl.arange(0, BT)
    rel = tl.minimum(t, T - 1) - t0
    token0 = tl.program_id(0).to(tl.int64) * BT
    x = load_rows(o.ptr + token0 * o.token + head * o.head, rel * o.token, E, EP).to(tl.float32)
    y = load_rows(do.ptr + token0 * do.token + head * do.head, rel * do.token, E, EP).to(tl.float32)
    tl.store(delta.ptr + token0 * delta.token + head * delta.head + (t - t0) * delta.token, tl.sum(x * y, 1), mask=t < T)
