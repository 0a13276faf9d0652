// language/pattern/SelectedTexts.cpp - the texts of the kernels of a pattern
// that selects blocks.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/pattern/KernelTexts.h"

namespace tessera::language {

const char *const listKernel =
    R"(# tessera: cpu(BM=64, BN=32)
# tessera: space(BN=[16, 32, 64, 128], where=BM * BN <= 8192)
# tessera: grid(T // (BM // G) + B, H)
@triton.autotune(configs=[triton.Config({"BN": keys}, num_warps=warps, num_stages=stages) for keys, warps, stages in [(64, 4, 2), (64, 2, 2), (32, 4, 3)]],
                 key=["G", "D", "E"])
@triton.jit(do_not_specialize=["nseq"])
def $NAME$_list(q: Rows, k: Rows, v: Rows, LISTS, COUNTS, o: Rows, lse: Rows, CU, $TENSORS$scale, nseq,
                $SIZES$, SHARE: tl.constexpr = 1$PARAMETERS$):
    """Attention over selected blocks, forward: one tile of queries of one list."""
$LIMITS$    forward_lists(q, k, v, LISTS, COUNTS, o, lse, $LEARNED$, CU, nseq, scale, $PATTERN$,
                  Sizes(G, D, DP, DT, E, EP, BM, BN), LSEL, NSEL, SHARE)
)";

const char *const listQueryGradientKernel =
    R"(# tessera: cpu(BM=64, BN=32)
# tessera: space(BN=[16, 32, 64, 128], where=BM * BN <= 8192)
# tessera: grid(T // (BM // G) + B, H)
@triton.autotune(configs=[triton.Config({"BN": keys}, num_warps=warps, num_stages=stages) for keys, warps, stages in [(32, 2, 2), (64, 4, 1), (64, 8, 1), (32, 4, 2)]],
                 key=["G", "D", "E"])
@triton.jit(do_not_specialize=["nseq"])
def $NAME$_list_bwd_dq(q: Rows, k: Rows, v: Rows, LISTS, COUNTS, do: Rows, lse: Rows, delta: Rows, dq: Rows, CU, $GRADIENTS$scale, nseq,
                       $SIZES$, ACCUMULATE: tl.constexpr = 0, SHARE: tl.constexpr = 1$PARAMETERS$):
    """Attention over selected blocks, backward: dq of one tile of queries of one list."""
$LIMITS$    backward_q_lists(q, k, v, LISTS, COUNTS, do, lse, delta, dq, $SINK$, $LEARNED$, $DLEARNED$, CU, nseq, scale, $PATTERN$,
                     Sizes(G, D, DP, DT, E, EP, BM, BN), LSEL, NSEL, SHARE, ACCUMULATE)
)";

const char *const listKeyGradientKernel =
    R"(# tessera: cpu(BM=64, BN=32)
# tessera: cpu(BM=32, BN=64)
# tessera: space(BM=[16, 32, 64, 128], BN=[16, 32, 64], where=G <= BM and BN <= LSEL)
# tessera: grid(H, (T * NSEL // CHUNK + nblk) * cdiv(LSEL, BN))
@triton.autotune(
    configs=[
        triton.Config({"BM": 64, "BN": 64}, num_warps=4, num_stages=2),
        triton.Config({"BM": 64, "BN": 64}, num_warps=8, num_stages=1),
        triton.Config({"BM": 32, "BN": 64}, num_warps=4, num_stages=2),
    ],
    key=["G", "D", "E"],
)
@triton.jit(do_not_specialize=["T", "nblk", "nseq"])
def $NAME$_list_bwd_dkdv(q: Rows, k: Rows, v: Rows, do: Rows, lse: Rows, delta: Rows, PTR, INV, PART, dk: Rows, dv: Rows, CU, $TENSORS$scale,
                         T, nseq, nblk, CHUNK: tl.constexpr,
                         $SIZES$, SHARE: tl.constexpr = 1$PARAMETERS$):
    """Attention over selected blocks, backward: dk and dv of a block's keys from a chunk of the tokens that selected it."""
$LIMITS$    backward_kv_lists(q, k, v, do, lse, delta, PTR, INV, PART, dk, dv, $LEARNED$, CU, T, nseq, nblk, scale, $PATTERN$,
                      Sizes(G, D, DP, DT, E, EP, BM, BN), LSEL, NSEL, CHUNK, SHARE)
)";

const char *const listMassKernel =
    R"(# tessera: cpu(BN=32)
# tessera: space(BN=[16, 32, 64])
# tessera: swap_ab
# tessera: grid(T + B, H)
@triton.autotune(configs=[triton.Config({"BN": 64}, num_warps=4, num_stages=2), triton.Config({"BN": 32}, num_warps=2, num_stages=3)], key=["D", "NSEL"])
@triton.jit(do_not_specialize=["T", "nseq"])
def $NAME$_list_mass(q: Rows, k: Rows, lse: Rows, IDX, MASS, CU, $TENSORS$scale, T, nseq, G: tl.constexpr, GP: tl.constexpr, LSEL: tl.constexpr,
                     NSEL: tl.constexpr, D: tl.constexpr, DP: tl.constexpr, DT: tl.constexpr, BN: tl.constexpr,
                     SHARE: tl.constexpr = 1$PARAMETERS$):
    """The share of attention that each selected block of a token receives, from which an indexer learns."""
$LIMITS$    masses_of_lists(q, k, lse, IDX, MASS, $LEARNED$, CU, scale, T, nseq, $PATTERN$,
                    Sizes(G, D, DP, DT, D, DP, GP, BN), LSEL, NSEL, SHARE)
)";

// Like the reference kernel, shares no code with kernels/attention.
const char *const scoresKernel =
    R"(# One program for each row of scores. The type of S may be fp64.
# tessera: cpu(BN=64)
@triton.autotune(configs=[triton.Config({"BN": 64}, num_warps=1)], key=[])
@triton.jit(do_not_specialize=["FIRST", "KEYS"])
def $NAME$_scores(S, OUT, $NUMBERS$FIRST, KEYS, H: tl.constexpr, BN: tl.constexpr$PARAMETERS$):
    """S [B, H, queries, KEYS] are products of queries and keys, OUT receives the scores of the softmax: -inf for hidden keys. The queries begin
    at position FIRST."""
$LIMITS$    t = FIRST + tl.program_id(0)
    head = tl.program_id(1)
    base = ((tl.program_id(2) * H + head).to(tl.int64) * tl.num_programs(0) + tl.program_id(0)) * KEYS
$VALUES$    for start in range(0, KEYS, BN):
        pos = start + tl.arange(0, BN)
        s = tl.load(S + base + pos, mask=pos < KEYS, other=0.0)
$MODIFY$        tl.store(OUT + base + pos, tl.where((pos <= t) & $SEES$, s, float("-inf")), mask=pos < KEYS)
)";

} // namespace tessera::language
