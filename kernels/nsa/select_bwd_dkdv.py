# kernels/nsa/select_bwd_dkdv.py - attention over selected blocks, dk and dv: chunks of the tokens that selected a block.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""dk = scale * ds^T q and dv = p^T do with p = exp(scale * q k^T - lse), ds = p * (do v^T - delta) over the tokens that selected a key's block
(FlashAttention 2, algorithm 2). PTR [H, nblk + 1] and INV [H, T * NSEL] are the inverse index (inverse_index.py), PART is that of bwd_sum.py;
other shapes as in kernels/attention/core.py."""
import triton
import triton.language as tl
from kernels.attention.backward_kv import query_step, store_key_rows
from kernels.attention.configs import DKDV_CONFIGS
from kernels.attention.core import Pattern, Rows, Sizes, Tile, load_keys, zero_slices
from kernels.attention.masks import listed_mask, picked_mask
from kernels.tiles import find_tile


# tessera: types("q k v do dk dv: Rows(*TYPE:16, i32:16, i32:16)", "lse delta: Rows(*fp32:16, i32, 1)", "PART: *fp32:16", "PTR INV CU: *i32:16", "scale: fp32", "T nseq nblk: i32")
# tessera: instance select_bwd_dkdv_quick_f32(TYPE="fp32", G=3, LSEL=32, NSEL=6, CHUNK=64, D=32, DP=32, DT=0, E=32, EP=32, BM=64, BN=32)
# tessera: instance select_bwd_dkdv_d64_f32(TYPE="fp32", G=4, LSEL=64, NSEL=16, CHUNK=512, D=64, DP=64, DT=0, E=64, EP=64, BM=64, BN=64)
# tessera: instance select_bwd_dkdv_paper_bf16(TYPE="bf16", lse="Rows(*fp32:16, i32:16, 1)", delta="Rows(*fp32:16, i32:16, 1)", G=16, LSEL=64, NSEL=16, CHUNK=512, D=192, DP=128, DT=64, E=128, EP=128, BM=64, BN=64)
# tessera: cpu(BM=64, BN=32)
# tessera: cpu(BM=32, BN=64)
# tessera: space(BM=[16, 32, 64, 128], BN=[16, 32, 64], where=G <= BM and BN <= LSEL)
# tessera: grid(H, (T * NSEL // CHUNK + nblk) * cdiv(LSEL, BN))
@triton.autotune(configs=DKDV_CONFIGS, key=["G", "D", "E"])
@triton.jit(do_not_specialize=["T", "nblk", "nseq"])
def select_bwd_dkdv(q: Rows, k: Rows, v: Rows, do: Rows, lse: Rows, delta: Rows, PTR, INV, PART, dk: Rows, dv: Rows, CU, scale, T, nseq, nblk,
                    G: tl.constexpr, LSEL: tl.constexpr, NSEL: tl.constexpr, CHUNK: tl.constexpr, D: tl.constexpr, DP: tl.constexpr,
                    DT: tl.constexpr, E: tl.constexpr, EP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, SHARE: tl.constexpr = 1,
                    HIDDEN: tl.constexpr = 0, SUB: tl.constexpr = 0):
    """Up to CHUNK tokens of a block's inverse list: dk and dv of up to BN of its keys; rows are (token, head of the group).

    Chunks are numbered as find_tile numbers the tiles of sequences, by PTR: the lists are the sequences. A list of one chunk writes
    dk and dv, also an empty one; the chunks of a longer one write sums for select_bwd_sum, in fp32 and not yet scaled. With SHARE > 1 a
    KV head has as many sets of lists, and so of gradients, for the caller to add up. A token's last HIDDEN keys do not count.
    SUB > 0: blocks are super-blocks of blocks of SUB tokens, and INV is int64 as inverse_fill_bits writes it.
    """
    BT: tl.constexpr = BM // G                   # whole tokens; the last BM % G rows are idle
    tl.static_assert(BT > 0, "BM must hold all heads of a token")
    STEPS: tl.constexpr = (LSEL + BN - 1) // BN
    group = tl.program_id(0).to(tl.int64)
    chunk = tl.program_id(1) // STEPS            # of all lists
    block, entry0, listed, r0 = find_tile(PTR + group * (nblk + 1), nblk, chunk, CHUNK)
    _, start, length, first = find_tile(CU, nseq, block, LSEL)
    n = first + tl.program_id(1) % STEPS * BN
    if (n >= length) | ((r0 > 0) & (r0 >= listed)):         # an empty list has a chunk, which writes zeros
        return
    bound = tl.minimum(first + LSEL, length)
    head = group // SHARE if SHARE > 1 else group
    kt = tl.trans(load_keys(k, start, length, n, head, 0, D, DP, BN))
    kt2 = tl.trans(load_keys(k, start, length, n, head, DP, D - DP, DT, BN)) if DT else None
    vt = tl.trans(load_keys(v, start, length, n, head, 0, E, EP, BN))
    entries = tl.minimum(listed - r0, CHUNK)
    tokens = INV + group * T * NSEL + entry0 + r0
    rows = tl.arange(0, BM)
    sum1, sum2 = zero_slices(BN, Sizes(G, D, DP, DT, E, EP, BM, BN))
    sumv = tl.zeros((BN, EP), tl.float32)
    for r in range(0, entries, BT):
        t = tl.load(tokens + tl.minimum(r + rows // G, entries - 1))
        bits = (t >> 32).to(tl.int32)[:, None] if SUB else None
        t = (t & 0x7fffffff).to(tl.int32) if SUB else t
        newest = tl.where(rows // G < tl.minimum(BT, entries - r), tl.minimum(t - HIDDEN if HIDDEN else t, bound - 1), -1)    # idle rows see nothing
        tile = Tile(start, length, 0, group, t.to(tl.int64), rows % G, newest >= 0, start, length)   # listed tokens may lie far apart
        sum1, sum2, sumv = query_step(q, do, lse, delta, None, None, kt, kt2, vt, tile, n, scale, sum1, sum2, sumv,
                                      (newest[:, None], first, bits, SUB) if SUB else (newest[:, None], None),
                                      Pattern((), picked_mask if SUB else listed_mask, None, None, causal=True, idle=True),
                                      Sizes(G, D, DP, DT, E, EP, BM, BN), True)
    live = n + tl.arange(0, BN) < bound
    if listed > CHUNK:
        first_row = (group * (tl.num_programs(1) // STEPS) + chunk) * LSEL + (n - first)
        sums = Rows(PART, D + E, 0)
        store_key_rows(sums, first_row, group, sum1, sum2, live, 0, D, DP, DT)
        store_key_rows(sums, first_row, group, sumv, None, live, D, E, EP, 0)
    else:
        store_key_rows(dk, start + n, group, sum1 * scale, sum2 * scale, live, 0, D, DP, DT)
        store_key_rows(dv, start + n, group, sumv, None, live, 0, E, EP, 0)
