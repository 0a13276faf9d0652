# kernels/dense/attn_bwd_fused.py - causal flash attention, backward in one pass, for few threads.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""dq, dk and dv as in attn_bwd.py, which has the formulas. dq, dk and dv are fp32 in the shapes of q, k and v."""
import triton
import triton.language as tl
from kernels.attention.backward_kv import store_key_rows
from kernels.attention.backward_q import probabilities
from kernels.attention.core import LOG2E, Pattern, Rows, live_keys, load_keys, load_queries, load_row_values, query_tile, row_pointer
from kernels.attention.masks import causal_mask
from kernels.tiles import store_rows


# tessera: types("q k v do: Rows(*TYPE:16, i32:16, i32:16)", "lse delta: Rows(*fp32:16, i32, 1)", "dq dk dv: Rows(*fp32:16, i32:16, i32:16)", "CU: *i32:16", "scale: fp32")
# tessera: instance dense_bwd_quick_f32(TYPE="fp32", G=3, D=32, DP=32, E=32, EP=32, BM=64, BN=32)
# tessera: instance dense_bwd_d64_f32(TYPE="fp32", G=4, D=64, DP=64, E=64, EP=64, BM=64, BN=32)
# tessera: cpu(BM=64, BN=128)
# tessera: cpu(BM=128, BN=128)
# tessera: space(BM=[32, 64, 128, 256], BN=[32, 64, 128, 256], where=G <= BM and BM * BN <= 16384)
# tessera: grid(H, B)
@triton.jit
def dense_bwd(q: Rows, k: Rows, v: Rows, do: Rows, lse: Rows, delta: Rows, dq: Rows, dk: Rows, dv: Rows, CU, scale, G: tl.constexpr,
              D: tl.constexpr, DP: tl.constexpr, E: tl.constexpr, EP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """dq, dk and dv of one KV head of one sequence. Every score is computed once, not twice: dq is added up in memory, tile of
    keys by tile of keys, by the one program that may write it."""
    BT: tl.constexpr = BM // G                   # whole tokens; the last BM % G rows of a tile are idle
    tl.static_assert(BT > 0, "BM must hold all heads of a token")
    group = tl.program_id(0).to(tl.int64)
    start = tl.load(CU + tl.program_id(1))
    length = tl.load(CU + tl.program_id(1) + 1) - start
    for n in range(0, length, BN):
        pos = n + tl.arange(0, BN)
        k1 = load_keys(k, start, length, n, group, 0, D, DP, BN)
        v1 = load_keys(v, start, length, n, group, 0, E, EP, BN)
        sum_k = tl.zeros((BN, DP), tl.float32)
        sum_v = tl.zeros((BN, EP), tl.float32)
        for t0 in range(n, length, BT):
            tile = query_tile(start, length, t0, group, start, length, G, BM, True)
            q1 = load_queries(q, tile, G, 0, D, DP)
            do1 = load_queries(do, tile, G, 0, E, EP)
            total = load_row_values(lse, tile, G) * LOG2E
            change = load_row_values(delta, tile, G)
            keep = live_keys(tile, pos, (), Pattern((), causal_mask, None, None, causal=True, idle=True), G)
            p = probabilities(tl.dot(q1, tl.trans(k1)), tile, pos, scale, None, total, keep, (), Pattern((), None, None, None), G)
            sum_v = tl.dot(tl.trans(p.to(do1.dtype)), do1, sum_v)
            ds = (p * (tl.dot(do1, tl.trans(v1)) - change[:, None]) * scale).to(k1.dtype)
            sum_k = tl.dot(tl.trans(ds), q1, sum_k)
            out, offs = row_pointer(dq, tile, G)
            d = tl.arange(0, DP)
            before = tl.load(out + offs[:, None] + d[None, :], mask=tile.live[:, None] & (d[None, :] < D) & (n > 0), other=0.0)
            store_rows(out, offs, tl.dot(ds, k1, before), D, DP, tile.live)
        store_key_rows(dk, start + n, group, sum_k, None, pos < length, 0, D, DP, 0)
        store_key_rows(dv, start + n, group, sum_v, None, pos < length, 0, E, EP, 0)
