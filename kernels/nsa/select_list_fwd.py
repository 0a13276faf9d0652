# kernels/nsa/select_list_fwd.py - attention over selected blocks, forward, tiles of tokens that walk the list of their blocks.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl
from kernels.attention.core import Pattern, Rows, Sizes, load_queries, query_tile
from kernels.attention.forward import key_step, store_output
from kernels.attention.masks import listed_mask
from kernels.tiles import find_tile


# tessera: types("Q K V O: *TYPE:16", "LISTS: *i64:16", "COUNTS CU: *i32:16", "LSE: *fp32:16", "scale: fp32", "nseq slset: i32", "slseh: 1", "s*: i32:16")
# tessera: instance select_list_fwd_quick_f32(TYPE="fp32", G=3, LSEL=32, NSEL=6, D=32, DP=32, DT=0, E=32, EP=32, BM=64, BN=32)
# tessera: instance select_list_fwd_d64_f32(TYPE="fp32", G=4, LSEL=64, NSEL=16, D=64, DP=64, DT=0, E=64, EP=64, BM=64, BN=64)
# tessera: instance select_list_fwd_paper_bf16(TYPE="bf16", slset="i32:16", G=16, LSEL=64, NSEL=16, D=192, DP=128, DT=64, E=128, EP=128, BM=64, BN=64)
# tessera: cpu(BM=64, BN=32)
# tessera: space(BN=[16, 32, 64, 128], where=BM * BN <= 8192)
# tessera: grid(T // (BM // G) + B, H)
@triton.autotune(
    configs=[
        triton.Config({"BN": 64}, num_warps=4, num_stages=2),
        triton.Config({"BN": 32}, num_warps=4, num_stages=3),
    ],
    key=["G", "D", "E"],
)
@triton.jit(do_not_specialize=["nseq"])
def select_list_fwd(Q, K, V, LISTS, COUNTS, O, LSE, CU, scale, nseq, sqt, sqh, skt, skh, svt, svh, sot, soh, slset, slseh,
                    G: tl.constexpr, LSEL: tl.constexpr, NSEL: tl.constexpr,
                    D: tl.constexpr, DP: tl.constexpr, DT: tl.constexpr, E: tl.constexpr, EP: tl.constexpr,
                    BM: tl.constexpr, BN: tl.constexpr, SHARE: tl.constexpr = 1, HIDDEN: tl.constexpr = 0):
    """One tile of (token, head) rows of one list: query t attends keys <= t - HIDDEN of its selected blocks, each loaded once for all
    rows. SHARE lists read the keys of one KV head."""
    BT: tl.constexpr = BM // G                   # whole tokens; the last BM % G rows of a tile are idle
    tl.static_assert(BT > 0, "BM must hold all heads of a token")
    tl.static_assert(BT <= 32, "a token has a bit in a word of 32: BM must be smaller")
    number = tl.num_programs(0) - 1 - tl.program_id(0)      # late tokens, which see most keys, first
    _, start, length, t0 = find_tile(CU, nseq, number, BT)
    group = tl.program_id(1).to(tl.int64)
    if t0 >= length:
        return
    tile = query_tile(start, length, t0, group, start, length, G, BM)
    q = load_queries(Rows(Q, sqt, sqh), tile, G, 0, D, DP)
    q2 = load_queries(Rows(Q, sqt, sqh), tile, G, DP, D - DP, DT) if DT else None
    shift = group // SHARE - group if SHARE > 1 else 0       # from the list's number to that of its KV head
    peak = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, EP), tl.float32)
    entry = group * tl.num_programs(0) + number
    entries = LISTS + entry * (BT * NSEL)
    STEPS: tl.constexpr = (LSEL + BN - 1) // BN  # of a block
    for i in range(0, tl.load(COUNTS + entry) * STEPS):
        pair = tl.load(entries + i // STEPS)     # bits of tokens, then the block in the low half
        block = (pair & 0xffffffff).to(tl.int32)
        chosen = ((pair >> 32).to(tl.int32) >> (tile.t - t0)) & 1
        newest = tl.where(chosen > 0, tile.t - HIDDEN if HIDDEN else tile.t, -1)[:, None]
        peak, total, acc = key_step(q, q2, Rows(K + shift * skh if SHARE > 1 else K, skt, skh),
                                    Rows(V + shift * svh if SHARE > 1 else V, svt, svh), tile, block * LSEL + i % STEPS * BN, scale, None, peak, total,
                                    acc, (newest, (block + 1) * LSEL if LSEL % BN else None),
                                    Pattern((), listed_mask, None, None, causal=True), Sizes(G, D, DP, DT, E, EP, BM, BN), True)
    store_output(Rows(O, sot, soh), Rows(LSE, slset, slseh), peak, total, acc, total, tile, Sizes(G, D, DP, DT, E, EP, BM, BN))
