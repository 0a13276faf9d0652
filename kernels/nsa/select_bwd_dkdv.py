# kernels/nsa/select_bwd_dkdv.py - attention over selected blocks, dk and dv: chunks of the tokens that selected a block.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl
from kernels.attention.backward_kv import query_step, store_key_rows
from kernels.attention.core import Pattern, Rows, Sizes, Tile, load_keys
from kernels.attention.masks import listed_mask, picked_mask
from kernels.tiles import find_tile


# tessera: types("Q K V DO DK DV: *TYPE:16", "LSE DELTA PART: *fp32:16", "PTR INV CU: *i32:16", "scale: fp32", "T nseq nblk slset sdeltat: i32", "slseh sdeltah: 1", "s*: i32:16")
# tessera: instance select_bwd_dkdv_quick_f32(TYPE="fp32", G=3, LSEL=32, NSEL=6, CHUNK=64, D=32, DP=32, DT=0, E=32, EP=32, BM=64, BN=32)
# tessera: instance select_bwd_dkdv_d64_f32(TYPE="fp32", G=4, LSEL=64, NSEL=16, CHUNK=512, D=64, DP=64, DT=0, E=64, EP=64, BM=64, BN=64)
# tessera: instance select_bwd_dkdv_paper_bf16(TYPE="bf16", slset="i32:16", sdeltat="i32:16", G=16, LSEL=64, NSEL=16, CHUNK=512, D=192, DP=128, DT=64, E=128, EP=128, BM=64, BN=64)
# tessera: cpu(BM=64, BN=32)
# tessera: cpu(BM=32, BN=64)
# tessera: space(BM=[16, 32, 64, 128], BN=[16, 32, 64], where=G <= BM and BN <= LSEL)
# tessera: grid(H, (T * NSEL // CHUNK + nblk) * cdiv(LSEL, BN))
@triton.autotune(
    configs=[
        triton.Config({"BM": 32, "BN": 64}, num_warps=4, num_stages=2),
        triton.Config({"BM": 64, "BN": 64}, num_warps=8, num_stages=1),
        triton.Config({"BM": 64, "BN": 64}, num_warps=4, num_stages=1),
        triton.Config({"BM": 64, "BN": 32}, num_warps=4, num_stages=2),
    ],
    key=["G", "D", "E"],
)
@triton.jit(do_not_specialize=["T", "nblk", "nseq"])
def select_bwd_dkdv(Q, K, V, DO, LSE, DELTA, PTR, INV, PART, DK, DV, CU, scale, T, nseq, nblk,
                    sqt, sqh, skt, skh, svt, svh, sdot, sdoh, sdkt, sdkh, sdvt, sdvh, slset, slseh, sdeltat, sdeltah,
                    G: tl.constexpr, LSEL: tl.constexpr, NSEL: tl.constexpr, CHUNK: tl.constexpr,
                    D: tl.constexpr, DP: tl.constexpr, DT: tl.constexpr, E: tl.constexpr, EP: tl.constexpr,
                    BM: tl.constexpr, BN: tl.constexpr, SHARE: tl.constexpr = 1, HIDDEN: tl.constexpr = 0, SUB: tl.constexpr = 0):
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
    kt = tl.trans(load_keys(Rows(K, skt, skh), start, length, n, head, 0, D, DP, BN))
    kt2 = tl.trans(load_keys(Rows(K, skt, skh), start, length, n, head, DP, D - DP, DT, BN)) if DT else None
    vt = tl.trans(load_keys(Rows(V, svt, svh), start, length, n, head, 0, E, EP, BN))
    entries = tl.minimum(listed - r0, CHUNK)
    tokens = INV + group * T * NSEL + entry0 + r0
    rows = tl.arange(0, BM)
    dk = tl.zeros((BN, DP), tl.float32)
    dk2 = tl.zeros((BN, DT), tl.float32) if DT else 0.0
    dv = tl.zeros((BN, EP), tl.float32)
    for r in range(0, entries, BT):
        t = tl.load(tokens + tl.minimum(r + rows // G, entries - 1))
        bits = (t >> 32).to(tl.int32)[:, None] if SUB else None
        t = (t & 0x7fffffff).to(tl.int32) if SUB else t
        newest = tl.where(rows // G < tl.minimum(BT, entries - r), tl.minimum(t - HIDDEN if HIDDEN else t, bound - 1), -1)    # idle rows see nothing
        tile = Tile(start, length, 0, group, t.to(tl.int64), rows % G, newest >= 0, start, length)   # listed tokens may lie far apart
        dk, dk2, dv = query_step(Rows(Q, sqt, sqh), Rows(DO, sdot, sdoh), Rows(LSE, slset, slseh), Rows(DELTA, sdeltat, sdeltah), None, None,
                                 kt, kt2, vt, tile, n, scale, dk, dk2, dv, (newest[:, None], first, bits, SUB) if SUB else (newest[:, None], None),
                                 Pattern((), picked_mask if SUB else listed_mask, None, None, causal=True, idle=True), Sizes(G, D, DP, DT, E, EP, BM, BN), True)

    live = n + tl.arange(0, BN) < bound
    if listed > CHUNK:
        first_row = (group * (tl.num_programs(1) // STEPS) + chunk) * LSEL + (n - first)
        sums = Rows(PART, D + E, 0)
        store_key_rows(sums, first_row, group, dk, dk2, live, 0, D, DP, DT)
        store_key_rows(sums, first_row, group, dv, None, live, D, E, EP, 0)
    else:
        store_key_rows(Rows(DK, sdkt, sdkh), start + n, group, dk * scale, dk2 * scale, live, 0, D, DP, DT)
        store_key_rows(Rows(DV, sdvt, sdvh), start + n, group, dv, None, live, 0, E, EP, 0)
