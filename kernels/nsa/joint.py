# kernels/nsa/joint.py - one softmax over several streams of keys: merged outputs, and the rows that every stream's backward pass takes.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""o = sum_i exp(lse_i - L) o_i with L = log(sum_i exp(lse_i) + exp(sink)), from the output o_i and lse_i of each stream (FlashAttention 2,
section 3.1). p = exp(score - L) is the joint softmax, so a stream's backward pass that is given L and the joint delta makes the joint
gradients."""
import triton
import triton.language as tl
from kernels.attention.core import LN2, LOG2E, finish
from kernels.tiles import load_live_rows, store_rows


# tessera: types("PART LSES SINK: *fp32:16", "O: *TYPE:16", "LSE: *fp32:16", "T: i32", "plane rows: i32:16", "slset: i32", "slseh: 1", "s*: i32:16")
# tessera: instance merge_streams_quick_f32(TYPE="fp32", H=6, STREAMS=2, E=32, EP=32, BT=32)
# tessera: instance merge_streams_d64_f32(TYPE="fp32", H=16, STREAMS=2, E=64, EP=64, BT=32)
# tessera: instance merge_streams_paper_bf16(TYPE="bf16", slset="i32:16", H=64, STREAMS=3, E=128, EP=128, BT=32)
# tessera: cpu(BT=64)
# tessera: space(BT=[16, 32, 64, 128])
# tessera: grid(cdiv(T, BT), H)
@triton.autotune(configs=[triton.Config({"BT": 32}, num_warps=4), triton.Config({"BT": 16}, num_warps=4)], key=["E"])
@triton.jit(do_not_specialize=["T"])
def merge_streams(PART, LSES, SINK, O, LSE, T, plane, rows, sot, soh, slset, slseh,
                  H: tl.constexpr, STREAMS: tl.constexpr, E: tl.constexpr, EP: tl.constexpr, BT: tl.constexpr):
    """Merges BT tokens of one query head, fp32. Stream i has its output at PART + i * plane, [T, H, E], and its lse at LSES + i * rows, [T,
    H]; `plane` and `rows` are multiples of 16. SINK [H] joins the denominator, or is None. LSE excludes the sink; a row without keys has o
    = 0 and lse = -inf."""
    head = tl.program_id(1).to(tl.int64)
    t = tl.program_id(0).to(tl.int64) * BT + tl.arange(0, BT)
    live = t < T
    row = t * H + head
    peak = tl.full((BT,), float("-inf"), tl.float32)
    for i in tl.static_range(0, STREAMS):
        peak = tl.maximum(peak, tl.load(LSES + i * rows + row, mask=live, other=float("-inf")))
    base = tl.where(peak == float("-inf"), 0.0, peak) * LOG2E
    total = tl.zeros((BT,), tl.float32)
    acc = tl.zeros((BT, EP), tl.float32)
    for i in tl.static_range(0, STREAMS):
        weight = tl.exp2(tl.load(LSES + i * rows + row, mask=live, other=float("-inf")) * LOG2E - base)
        total += weight
        acc += load_live_rows(PART + i * plane, row * E, live, E, EP) * weight[:, None]
    joint = total if SINK is None else total + tl.exp2(tl.load(SINK + head) * LOG2E - base)
    value, lse = finish(base, total, acc, joint)
    store_rows(O + head * soh, t * sot, value, E, EP, live)
    tl.store(LSE + t * slset + head * slseh, lse, mask=live)


# tessera: types("LSE SINK DELTA GLSE TOTAL PART: *fp32:16", "T: i32", "slset sglset: i32", "slseh sglseh: 1")
# tessera: instance sink_rows_quick(H=6, HP=8, BT=32)
# tessera: instance sink_rows_d64(H=16, HP=16, BT=32)
# tessera: instance sink_rows_paper(slset="i32:16", H=64, HP=64, BT=32)
# tessera: cpu(BT=64)
# tessera: space(BT=[16, 32, 64])
# tessera: grid(cdiv(T, BT))
@triton.autotune(configs=[triton.Config({"BT": 32}, num_warps=4)], key=["H"])
@triton.jit(do_not_specialize=["T"])
def sink_rows(LSE, SINK, DELTA, GLSE, TOTAL, PART, T, slset, slseh, sglset, sglseh, H: tl.constexpr, HP: tl.constexpr, BT: tl.constexpr):
    """Computes TOTAL fp32 [T, H] = L of LSE and SINK [H], and PART fp32 [programs, H]: the program's sums of -exp(sink - L) * delta, which
    add up to the gradient of the sink.

    DELTA [T, H] holds the sum of o * do before, and loses the gradient of lse, GLSE * exp(L - lse): d lse / d score = exp(score - lse),
    which is p times exp(L - lse). GLSE may be None. The exponent is at most 80: where the sink exceeds lse by more, p is 0 in fp32 or nearly so. A
    sink of +inf makes L infinite and o 0: all gradients are 0.
    """
    t = tl.program_id(0).to(tl.int64) * BT + tl.arange(0, BT)
    head = tl.arange(0, HP)
    live = (t < T)[:, None] & (head < H)[None, :]
    lse = tl.load(LSE + t[:, None] * slset + head[None, :] * slseh, mask=live, other=float("-inf")) * LOG2E
    sink = tl.load(SINK + head, mask=head < H, other=float("-inf"))[None, :] * LOG2E
    top = tl.maximum(lse, sink)
    top = tl.where(tl.abs(top) == float("inf"), 0.0, top)
    total = top + tl.log2(tl.exp2(lse - top) + tl.exp2(sink - top))
    at = t[:, None] * H + head[None, :]
    delta = tl.load(DELTA + at, mask=live, other=0.0)
    share = tl.where(tl.abs(total) == float("inf"), 0.0, tl.exp2(sink - total))
    tl.store(PART + tl.program_id(0).to(tl.int64) * H + head, tl.sum(tl.where(live, -share * delta, 0.0), 0), mask=head < H)
    tl.store(TOTAL + at, total * LN2, mask=live)
    if GLSE is not None:
        seen = live & (lse > float("-inf"))
        change = tl.load(GLSE + t[:, None] * sglset + head[None, :] * sglseh, mask=seen, other=0.0)
        tl.store(DELTA + at, delta - change * tl.exp2(tl.minimum(total - lse, 80.0 * LOG2E)), mask=seen)
