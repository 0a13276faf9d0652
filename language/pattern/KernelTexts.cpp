// language/pattern/KernelTexts.cpp - the texts of the kernels of a pattern.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/pattern/KernelTexts.h"

#include <cassert>

namespace tessera::language {

// The reference kernel: evaluates the mask for every pair of a query and a key,
// in two passes, and the product for those that it admits. It shares no code
// with kernels/attention.
const char *const referenceKernel =
    R"(# One program for each row. Accumulators have the type of Q, so that gradients can be compared in fp64.
# tessera: grid(S, H * G, B)
@triton.jit
def $NAME$_ref(Q, K, V, O, LSE, CU, $TENSORS$scale, T, sqt, sqh, skt, skh, svt, svh, sot, soh$STRIDES$,
               G: tl.constexpr, D: tl.constexpr, E: tl.constexpr$PARAMETERS$):
    t = tl.program_id(0)
    head = tl.program_id(1)
    sequence = tl.program_id(2)
    start = tl.load(CU + sequence)
    length = tl.load(CU + sequence + 1) - start
    if t >= length:
        return
    d = tl.arange(0, triton.next_power_of_2(D))
    e = tl.arange(0, triton.next_power_of_2(E))
    q = tl.load(Q + (start + t) * sqt + head * sqh + d, mask=d < D, other=0.0)
    keys = K + start * skt + head // G * skh + d
    values = V + start * svt + head // G * svh + e
$VALUES$    peak = tl.full((1,), float("-inf"), Q.dtype.element_ty)
    for pos in range(0, length):
        if $SEES$:
            s = tl.sum(q * tl.load(keys + pos * skt, mask=d < D, other=0.0)) * scale
$MODIFY_SEEN$            peak = tl.maximum(peak, s)
    base = tl.where(peak == float("-inf"), 0.0, peak)
    total = tl.zeros((1,), Q.dtype.element_ty)
    acc = tl.zeros((triton.next_power_of_2(E),), Q.dtype.element_ty)
    for pos in range(0, length):
        if $SEES$:
            s = tl.sum(q * tl.load(keys + pos * skt, mask=d < D, other=0.0)) * scale
$MODIFY_SEEN$            p = tl.exp(s - base)
            total += p
            acc += p * tl.load(values + pos * svt, mask=e < E, other=0.0)
    weight = tl.where(total == 0.0, 1.0, total$SINK_WEIGHT$)
    tl.store(O + (start + t) * sot + head * soh + e, acc / weight, mask=e < E)
    tl.store(LSE + head * T + start + t + tl.arange(0, 1), peak + tl.log(tl.where(total == 0.0, 1.0, total)))
)";

const char *const forwardKernel =
    R"($HEAD$# tessera: grid(T // (BM // G) + B, H)
@triton.autotune(
    configs=[
        triton.Config({"BM": 128, "BN": 64}, num_warps=4, num_stages=2),
        triton.Config({"BM": 64, "BN": 64}, num_warps=4, num_stages=2),
        triton.Config({"BM": 64, "BN": 32}, num_warps=4, num_stages=3),
    ],
    key=["G", "D", "E"],
)
@triton.jit(do_not_specialize=["T", "nseq"])
def $NAME$(Q, K, V, O, LSE, CU, $TENSORS$scale, T, nseq, sqt, sqh, skt, skh, svt, svh, sot, soh$STRIDES$,
           $SIZES$$RUN_PARAMETER$$PARAMETERS$):
    """Attention of the pattern, forward: one tile of queries."""
$LIMITS$    forward(Rows(Q, sqt, sqh), Rows(K, skt, skh), Rows(V, svt, svh), Rows(O, sot, soh), Rows(LSE, 1, T), $SINK$, $LEARNED$,
            CU, nseq, scale, $PATTERN$,
            Sizes(G, D, DP, DT, E, EP, BM, BN$RUN$), SPLIT)
)";

const char *const queryGradientKernel =
    R"($HEAD$# tessera: grid(T // (BM // G) + B, H)
@triton.autotune(
    configs=[
        triton.Config({"BM": 128, "BN": 32}, num_warps=4, num_stages=1),
        triton.Config({"BM": 64, "BN": 64}, num_warps=4, num_stages=1),
        triton.Config({"BM": 32, "BN": 64}, num_warps=4, num_stages=2),
    ],
    key=["G", "D", "E"],
)
@triton.jit(do_not_specialize=["T", "nseq"])
def $NAME$_bwd_dq(Q, K, V, DO, LSE, DELTA, DQ, CU, $GRADIENTS$scale, T, nseq, sqt, sqh, skt, skh, svt, svh, sdot, sdoh, sdqt, sdqh$STRIDES$,
                  $SIZES$$RUN_PARAMETER$$PARAMETERS$):
    """Attention of the pattern, backward: dq of one tile of queries."""
$LIMITS$    backward_q(Rows(Q, sqt, sqh), Rows(K, skt, skh), Rows(V, svt, svh), Rows(DO, sdot, sdoh), Rows(LSE, 1, T), Rows(DELTA, 1, T),
               Rows(DQ, sdqt, sdqh), $SINK$, $DSINK$, $LEARNED$, $DLEARNED$,
               CU, nseq, scale, $PATTERN$,
               Sizes(G, D, DP, DT, E, EP, BM, BN$RUN$), SPLIT)
)";

const char *const keyGradientKernel =
    R"($HEAD$# tessera: grid(H, T // BN + B)
@triton.autotune(
    configs=[
        triton.Config({"BM": 64, "BN": 64}, num_warps=4, num_stages=2),
        triton.Config({"BM": 64, "BN": 64}, num_warps=8, num_stages=1),
        triton.Config({"BM": 32, "BN": 64}, num_warps=4, num_stages=2),
    ],
    key=["G", "D", "E"],
)
@triton.jit(do_not_specialize=["T", "nseq"])
def $NAME$_bwd_dkdv(Q, K, V, DO, LSE, DELTA, DK, DV, CU, $TENSORS$scale, T, nseq, sqt, sqh, skt, skh, svt, svh, sdot, sdoh,
                    sdkt, sdkh, sdvt, sdvh$STRIDES$,
                    $SIZES$$PARAMETERS$):
    """Attention of the pattern, backward: dk and dv of one tile of keys."""
$LIMITS$    backward_kv(Rows(Q, sqt, sqh), Rows(K, skt, skh), Rows(V, svt, svh), Rows(DO, sdot, sdoh), Rows(LSE, 1, T), Rows(DELTA, 1, T),
                Rows(DK, sdkt, sdkh), Rows(DV, sdvt, sdvh), $SINK$, $LEARNED$,
                CU, nseq, scale, $PATTERN$,
                Sizes(G, D, DP, DT, E, EP, BM, BN), SPLIT)
)";

const char *const gradientKernel =
    R"($HEAD$# tessera: grid(H, B, shares)
@triton.autotune(configs=[triton.Config({"BM": 64, "BN": 32}, num_warps=4, num_stages=1)], key=["G", "D", "E"])
@triton.jit(do_not_specialize=["T", "shares"])
def $NAME$_bwd(Q, K, V, DO, LSE, DELTA, DQ, DK, DV, CU, $GRADIENTS$scale, T, shares, sqt, sqh, skt, skh, svt, svh, sdot, sdoh,
               sdqt, sdqh, sdkt, sdkh, sdvt, sdvh$STRIDES$,
               $ONE_SLICE$$RUN_PARAMETER$$PARAMETERS$):
    """Attention of the pattern, backward in one pass: dq of one share of the queries, and their part of dk and dv."""
$LIMITS$    backward(Rows(Q, sqt, sqh), Rows(K, skt, skh), Rows(V, svt, svh), Rows(DO, sdot, sdoh), Rows(LSE, 1, T), Rows(DELTA, 1, T),
             Rows(DQ, sdqt, sdqh), Rows(DK, sdkt, sdkh), Rows(DV, sdvt, sdvh), $SINK$, $DSINK$, $LEARNED$, $DLEARNED$,
             CU, T, shares, scale, $PATTERN$,
             Sizes(G, D, DP, 0, E, EP, BM, BN$RUN$), SPLIT)
)";

const char *const decodeKernel =
    R"($HEAD$@triton.autotune(configs=[triton.Config({}, num_warps=4, num_stages=2)], key=["G", "D", "E"])
@triton.jit(do_not_specialize=["BEGIN", "END"])
def $NAME$_decode(Q, K, V, O, $TENSORS$scale, BEGIN, END, sqb, sqt, sqh, skb, skt, skh, svb, svt, svh, sob, sot, soh,
                  G: tl.constexpr, D: tl.constexpr, DP: tl.constexpr, DT: tl.constexpr, E: tl.constexpr, EP: tl.constexpr,
                  BM: tl.constexpr, BN: tl.constexpr$PARAMETERS$):
    """Attention of the pattern for new tokens, over a cache of keys and values."""
$LIMITS$    decode(Rows(Q, sqt, sqh), Rows(K, skt, skh), Rows(V, svt, svh), Rows(O, sot, soh), (sqb, skb, svb, sob), $SINK$, $LEARNED$,
           BEGIN, END, scale, $PATTERN$, Sizes(G, D, DP, DT, E, EP, BM, BN))
)";

const char *const firstReaderKernel =
    R"($HEAD$@triton.jit(do_not_specialize=["BEGIN", "END"])
def $NAME$_first_reader(OUT, $TENSORS$BEGIN, END, HEADS: tl.constexpr$PARAMETERS$):
    """The first query that attends to a key of positions BEGIN to END-1, of each sequence."""
$LIMITS$    first_reader(OUT, BEGIN, END, HEADS, $PATTERN$)
)";

std::string replaceNames(std::string text,
                         const std::map<std::string, std::string> &pieces) {
  for (size_t at = text.find('$'); at != std::string::npos;
       at = text.find('$', at)) {
    const size_t end = text.find('$', at + 1);
    assert(end != std::string::npos);
    const std::string &piece = pieces.at(text.substr(at + 1, end - at - 1));
    text.replace(at, end + 1 - at, piece);
    at += piece.size();
  }
  return text;
}

} // namespace tessera::language
