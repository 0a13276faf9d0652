# kernels/nsa/attn_delta.py - delta = sum of dO*O over the value dimension, the shared first step of attention backward.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl


@triton.jit
def load_rows(ptr, offs, N: tl.constexpr, NP: tl.constexpr):
    """Rows that start at ptr + offs, N elements each; columns N .. NP-1 read as zero."""
    cols = tl.arange(0, NP)
    if N == NP:
        x = tl.load(ptr + offs[:, None] + cols[None, :])
    else:
        x = tl.load(ptr + offs[:, None] + cols[None, :], mask=cols[None, :] < N, other=0.0)
    return x


# tessera: types("O DO: *TYPE:16", "DELTA: *fp32:16", "T sdeltat: i32", "sdeltah: 1", "s*: i32:16")
# tessera: instance attn_delta_quick_f32(TYPE="fp32", E=32, EP=32, BT=32)
# tessera: instance attn_delta_d64_f32(TYPE="fp32", E=64, EP=64, BT=32)
# tessera: instance attn_delta_paper_bf16(TYPE="bf16", sdeltat="i32:16", E=128, EP=128, BT=32)
# tessera: cpu(BT=64)
# tessera: space(BT=[16, 32, 64, 128, 256])
@triton.jit(do_not_specialize=["T"])
def attn_delta(O, DO, DELTA, T, sot, soh, sdot, sdoh, sdeltat, sdeltah,
               E: tl.constexpr, EP: tl.constexpr, BT: tl.constexpr):
    """BT tokens of one query head."""
    t0 = tl.program_id(0) * BT
    head = tl.program_id(1).to(tl.int64)
    t = t0 + tl.arange(0, BT)
    rel = tl.minimum(t, T - 1) - t0
    token0 = tl.program_id(0).to(tl.int64) * BT
    o = load_rows(O + token0 * sot + head * soh, rel * sot, E, EP).to(tl.float32)
    do = load_rows(DO + token0 * sdot + head * sdoh, rel * sdot, E, EP).to(tl.float32)
    tl.store(DELTA + token0 * sdeltat + head * sdeltah + (t - t0) * sdeltat, tl.sum(o * do, 1), mask=t < T)
