# kernels/nsa/decode.py - attention of one token a sequence over a cache: shares of the keys side by side, then their ordered sum.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl
from kernels.attention.core import LOG2E, Rows, Sizes, dot_slices, finish, load_query_slices, no_keys, softmax_step, token_rows
from kernels.tiles import load_rows, pick_block, store_rows


# tessera: types("Q K V: *TYPE:16", "IDX: *i32:16", "PART STATE: *fp32:16", "scale: fp32", "first last steps: i32", "s*: i32:16")
# tessera: instance decode_split_quick_f32(TYPE="fp32", G=3, GP=4, LSEL=0, NSEL=0, D=32, DP=32, DT=0, E=32, EP=32, BN=64)
# tessera: instance decode_split_d64_f32(TYPE="fp32", G=4, GP=4, LSEL=64, NSEL=16, D=64, DP=64, DT=0, E=64, EP=64, BN=64)
# tessera: instance decode_split_paper_bf16(TYPE="bf16", G=16, GP=16, LSEL=64, NSEL=16, D=192, DP=128, DT=64, E=128, EP=128, BN=64)
# tessera: swap_ab
@triton.autotune(configs=[triton.Config({}, num_warps=4, num_stages=2)], key=["G", "D", "E"])
@triton.jit(do_not_specialize=["first", "last", "steps"])
def decode_split(Q, K, V, IDX, PART, STATE, scale, first, last, steps, sqb, sqh, skb, skh, skt, svb, svh, svt,
                 G: tl.constexpr, GP: tl.constexpr, LSEL: tl.constexpr, NSEL: tl.constexpr,
                 D: tl.constexpr, DP: tl.constexpr, DT: tl.constexpr, E: tl.constexpr, EP: tl.constexpr, BN: tl.constexpr):
    """Computes a part of the attention of one token of each of B sequences, Q [B, Hq, D], over K [B, Hkv, capacity, D] and V [B, Hkv,
    capacity, E]: `steps` steps of BN keys of one KV head.

    LSEL = NSEL = 0: keys first .. last-1. Otherwise the keys before `last` (at least 1) of the blocks of IDX int32 [B, Hkv, NSEL]; BN
    divides a block. PART fp32 [B, Hkv, splits, G, E] gets the sums, STATE fp32 [B, Hkv, splits, 2, G] the maximum of score =
    scale * log2(e) * q k^T and the sum of 2^(score - maximum). Grid: (splits, Hkv, B).
    """
    split = tl.program_id(0)
    group = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    tile = token_rows(0, last, last - 1, group, G, GP)       # the token after the keys; its rows have no stride of tokens
    q1, q2 = load_query_slices(Rows(Q + b * sqb, 0, sqh), tile, Sizes(G, D, DP, DT, E, EP, GP, BN))
    keys = K + b * skb + group * skh
    values = V + b * svb + group * svh
    acc, peak, total = no_keys(Sizes(G, D, DP, DT, E, EP, GP, BN))
    for i in range(split * steps, split * steps + steps):
        if LSEL:
            OF_BLOCK: tl.constexpr = (LSEL + BN - 1) // BN
            slot = i // OF_BLOCK
            block = pick_block(IDX + (b * tl.num_programs(1) + group) * NSEL, slot, (last - 1) // LSEL, NSEL)
            n = tl.maximum(block, 0) * LSEL + i % OF_BLOCK * BN
            bound = tl.minimum((block + 1) * LSEL, last)     # -1: no keys
        else:
            n = first + i * BN
            bound = last
        pos = n + tl.arange(0, BN)
        key = tl.minimum(pos, last - 1).to(tl.int64)         # keys behind the last repeat it
        k = load_rows(keys, key * skt, D, DP)
        k2 = load_rows(keys + DP, key * skt, D - DP, DT) if DT else None
        s = tl.where((pos < bound)[None, :], dot_slices(q1, q2, k, k2, DT), float("-inf"))
        peak, total, acc = softmax_step(s, scale * LOG2E, load_rows(values, key * svt, E, EP), peak, total, acc)

    part = ((b * tl.num_programs(1) + group) * tl.num_programs(0) + split) * G
    rows = tl.arange(0, GP)
    store_rows(PART + part * E, rows * E, acc, E, EP, tile.live)
    tl.store(STATE + part * 2 + rows, peak, mask=tile.live)
    tl.store(STATE + part * 2 + G + rows, total, mask=tile.live)


# tessera: types("PART STATE LSE: *fp32:16", "O: *TYPE:16", "splits: i32", "s*: i32:16")
# tessera: instance decode_combine_quick_f32(TYPE="fp32", G=3, GP=4, E=32, EP=32)
# tessera: instance decode_combine_d64_f32(TYPE="fp32", G=4, GP=4, E=64, EP=64)
# tessera: instance decode_combine_paper_bf16(TYPE="bf16", G=16, GP=16, E=128, EP=128)
@triton.autotune(configs=[triton.Config({}, num_warps=4)], key=["G", "E"])
@triton.jit(do_not_specialize=["splits"])
def decode_combine(PART, STATE, O, LSE, splits, sob, soh, G: tl.constexpr, GP: tl.constexpr, E: tl.constexpr, EP: tl.constexpr):
    """Combines the splits of decode_split in order: O [B, Hq, E] and LSE fp32 [B, Hq], contiguous.

    Grid: (Hkv, B).
    """
    group = tl.program_id(0).to(tl.int64)
    b = tl.program_id(1).to(tl.int64)
    rows = tl.arange(0, GP)
    live = rows < G
    e = tl.arange(0, EP)
    keep = live[:, None] & (e[None, :] < E)
    peak = tl.full((GP,), float("-inf"), tl.float32)
    total = tl.zeros((GP,), tl.float32)
    acc = tl.zeros((GP, EP), tl.float32)
    share0 = (b * tl.num_programs(0) + group) * splits
    for i in range(0, splits):
        part = (share0 + i) * G
        its_peak = tl.load(STATE + part * 2 + rows, mask=live, other=float("-inf"))
        its_total = tl.load(STATE + part * 2 + G + rows, mask=live, other=0.0)
        x = tl.load(PART + part * E + (rows * E)[:, None] + e[None, :], mask=keep, other=0.0)
        top = tl.maximum(peak, its_peak)
        base = tl.where(top == float("-inf"), 0.0, top)
        shrink = tl.exp2(peak - base)
        grow = tl.exp2(its_peak - base)
        total = total * shrink + its_total * grow
        acc = acc * shrink[:, None] + x * grow[:, None]
        peak = top
    value, lse = finish(peak, total, acc, total)
    tl.store(O + b * sob + group * G * soh + (rows * soh)[:, None] + e[None, :], value.to(O.dtype.element_ty), mask=keep)
    tl.store(LSE + (b * tl.num_programs(0) + group) * G + rows, lse, mask=live)
