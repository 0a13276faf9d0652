// ops/attention/Attention.cpp - shapes, outputs and launches that the four
// attention ops share.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/Attention.h"
#include "ops/launch/EmptyTensor.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <cmath>
#include <limits>
#include <string_view>

namespace tessera::runtime {

void applyArguments(Launch &launch, const Attention &a, const Branch &branch) {
  launch.tensor("CU", a.cuSeqlens).real("scale", a.scale);
  launch.integer("nseq", a.sequences);
  for (const auto &[name, tensor] : branch.tensors)
    launch.tensor(name, tensor);
  for (const auto &[name, tensor] : branch.rows)
    launch.rows(name, tensor);
  for (const auto &[name, value] : branch.integers)
    launch.integer(name, value);
  launch.sequence(a.maxSeqlen).constant("G", a.group);
  launch.keyHead(a.keyDim).padded("E", "EP", a.valueDim);
  for (const auto &[name, value] : branch.constants)
    launch.constant(name, value);
  wholeTokens(launch, a.group);
}

namespace {

// Sets the tile sizes of a backward kernel. All other constants are set
// already.
void applyTiles(Launch &launch, const Attention &a, const Branch &branch,
                bool keys) {
  if (!branch.ownTiles && !isHeavy(a))
    return;
  bool rowsGiven = a.group > kLeastTileRows; // set by wholeTokens
  for (const auto &[name, value] : branch.constants)
    rowsGiven |= std::string_view(name) == "BM";
  setTiles(launch, wideTiles(a, keys), rowsGiven);
}

// Runs a kernel that is tiled over BM / G tokens.
void runTokenTiles(Launch &launch, const Attention &a) {
  const int64_t tokens = launch.tile("BM") / a.group;
  launch.run(tileCount(a.tokens, tokens, a.sequences), a.keyHeads);
}

} // namespace

Launch &addRows(Launch &launch, const Attention &a, const RowGradient &rows) {
  launch.rows("q", a.q).rows("k", a.k).rows("v", a.v).rows("do", rows.gradO);
  return launch.rows("lse", rows.lse).rows("delta", rows.delta);
}

void wholeTokens(Launch &launch, int64_t group) {
  if (group > kLeastTileRows)
    launch.constant("BM", nextPowerOfTwo(group));
}

bool isHeavy(const Attention &a) {
  const HeadSlices key = headSlices(a.keyDim);
  const int64_t columns = key.first + key.tail + nextPowerOfTwo(a.valueDim);
  return columns * a.q.element_size() > 1024 && !takesCpuKernels(a.q);
}

const char *backwardOptions(const Attention &a) {
  return isHeavy(a) ? "num_stages=1" : "";
}

std::string backwardOptions(const Attention &a, const std::string &text) {
  const std::string options = backwardOptions(a);
  return options + (options.empty() || text.empty() ? "" : ", ") + text;
}

void setTiles(Launch &launch, const Constants &tiles, bool rowsGiven) {
  for (const auto &[name, value] : tiles)
    if (!rowsGiven || std::string_view(name) != "BM")
      launch.constant(name, value);
}

Constants wideTiles(const Attention &a, bool keys) {
  constexpr int64_t wide = 128; // columns of keys; wider tiles spill
  // Heads of 256 need 80 rows of 2 KiB: 160 of the 163 KiB of shared memory of
  // a block on sm_80. A kernel tiled over rows holds one tile of keys.
  if (isHeavy(a))
    return {{"BM", 32}, {"BN", keys && a.group > kLeastTileRows ? 16 : 32}};
  if (a.keyDim <= wide || a.group > kLeastTileRows || takesCpuKernels(a.q))
    return {};
  if (!keys)
    return {{"BM", 64}, {"BN", 64}};
  // True if 16 rows hold complete tokens without idle rows.
  if (16 % a.group == 0)
    return {{"BM", 16}, {"BN", 64}};
  return {{"BM", 64}, {"BN", 32}};
}

Attention checkAttention(const char *op, const at::Tensor &q,
                         const at::Tensor &k, const at::Tensor &v,
                         const at::Tensor &cuSeqlens, int64_t maxSeqlen,
                         std::optional<double> scale, bool compressed) {
  checkRank(op, "q", q, 3);
  checkRank(op, "k", k, 3);
  checkRank(op, "v", v, 3);
  checkFloating(op, "q", q);
  checkSameType(op, "k", k, "q", q);
  checkSameType(op, "v", v, "q", q);
  const int64_t rows = compressed ? k.size(0) : q.size(0);
  TESSERA_CHECK(k.size(0) == rows, op, "k has ", k.size(0),
                " rows and must have ", rows, ", one per token of q");
  TESSERA_CHECK(v.size(0) == rows && v.size(1) == k.size(1), op, "v has ",
                v.size(0), " rows and ", v.size(1), " heads but k has ", rows,
                " and ", k.size(1), "; keys and values must come in pairs");
  TESSERA_CHECK(k.size(1) > 0 && q.size(1) > 0 && q.size(1) % k.size(1) == 0,
                op, "q has ", q.size(1), " heads and k has ", k.size(1),
                "; the query heads must be a multiple of the key heads");
  TESSERA_CHECK(q.size(2) == k.size(2), op, "q has head size ", q.size(2),
                " but k has ", k.size(2), "; they must be equal");
  TESSERA_CHECK(q.size(2) > 0 && v.size(2) > 0, op, "head sizes are ",
                q.size(2), " and ", v.size(2), "; they must be positive");
  checkSequences(op, cuSeqlens, maxSeqlen, q.size(0), "q", q);
  return {op,
          unitLast(q),
          unitLast(k),
          unitLast(v),
          cuSeqlens,
          maxSeqlen,
          checkScale(op, scale, q.size(2)),
          q.size(0),
          q.size(1),
          k.size(1),
          q.size(1) / k.size(1),
          q.size(2),
          v.size(2),
          cuSeqlens.numel() - 1};
}

at::Tensor Attention::emptyOutput() const {
  return emptyTensor({tokens, queryHeads, valueDim}, q.options());
}

at::Tensor Attention::emptyRows() const {
  return at::empty({tokens, queryHeads}, q.options().dtype(at::kFloat));
}

Output Attention::newOutput() const { return {emptyOutput(), emptyRows()}; }

std::tuple<at::Tensor, at::Tensor> Attention::noKeys() const {
  return {at::zeros({tokens, queryHeads, valueDim}, q.options()),
          byHeads(at::full({tokens, queryHeads},
                           -std::numeric_limits<double>::infinity(),
                           q.options().dtype(at::kFloat)))};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor>
Attention::zeroGradients() const {
  return {at::zeros(q.sizes(), q.options()), at::zeros(k.sizes(), k.options()),
          at::zeros(v.sizes(), v.options())};
}

std::tuple<at::Tensor, at::Tensor> metaForward(const char *op,
                                               const at::Tensor &q,
                                               const at::Tensor &k,
                                               const at::Tensor &v) {
  checkRank(op, "q", q, 3);
  checkRank(op, "k", k, 3);
  checkRank(op, "v", v, 3);
  checkFloating(op, "q", q);
  return {at::empty_symint({q.sym_size(0), q.sym_size(1), v.sym_size(2)},
                           q.options()),
          byHeads(at::empty_symint({q.sym_size(0), q.sym_size(1)},
                                   q.options().dtype(at::kFloat)))};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor>
metaBackward(const at::Tensor &q, const at::Tensor &k, const at::Tensor &v) {
  return {at::empty_symint(q.sym_sizes(), q.options()),
          at::empty_symint(k.sym_sizes(), k.options()),
          at::empty_symint(v.sym_sizes(), v.options())};
}

void launchForward(const Attention &a, const Branch &branch, const char *file,
                   const char *kernel, const Output &to) {
  Launch launch(file, kernel, branch.text);
  launch.rows("q", a.q).rows("k", a.k).rows("v", a.v);
  launch.rows("o", to.o).rows("lse", to.lse);
  applyArguments(launch, a, branch);
  runTokenTiles(launch, a);
}

std::tuple<at::Tensor, at::Tensor> launchForward(const Attention &a,
                                                 const Branch &branch,
                                                 const char *file,
                                                 const char *kernel) {
  const Output to = a.newOutput();
  launchForward(a, branch, file, kernel, to);
  return {to.o, byHeads(to.lse)};
}

void launchDq(const Attention &a, const Branch &branch, const RowGradient &rows,
              const QueryGradient &to, const char *file, const char *kernel) {
  const std::string options = backwardOptions(a, branch.text);
  Launch launch(file, kernel, options);
  addRows(launch, a, rows).rows("dq", to.dq);
  applyArguments(launch, a, branch);
  applyTiles(launch, a, branch, false);
  if (to.add)
    launch.constant("ACCUMULATE", 1);
  runTokenTiles(launch, a);
}

std::tuple<at::Tensor, at::Tensor>
launchDkDv(const Attention &a, const Branch &branch, const RowGradient &rows,
           const char *file, const char *kernel) {
  const auto options =
      a.k.options().dtype(branch.gradients.value_or(a.k.scalar_type()));
  at::Tensor dk = at::empty(a.k.sizes(), options);
  at::Tensor dv = at::empty(a.v.sizes(), options);
  Launch launch(file, kernel, backwardOptions(a));
  addRows(launch, a, rows).rows("dk", dk).rows("dv", dv);
  applyArguments(launch, a, branch);
  applyTiles(launch, a, branch, true);
  launch.run(a.keyHeads,
             tileCount(a.k.size(0), launch.tile("BN"), a.sequences) *
                 branch.parts);
  return {dk, dv};
}

RowGradient rowGradient(const Attention &a, const at::Tensor &gradO,
                        const std::optional<at::Tensor> &gradLse,
                        const at::Tensor &o, const at::Tensor &lse) {
  const at::Tensor grad = outputGradient(a, gradO);
  return {grad, lseRows(a, lse), attentionDelta(a, grad, o, gradLse)};
}

at::Tensor lseRows(const Attention &a, const at::Tensor &lse) {
  TESSERA_CHECK(lse.scalar_type() == at::kFloat, a.op, "lse is ",
                lse.scalar_type(), "; pass the float32 lse of the forward op");
  checkShape(a.op, "lse", lse, {a.queryHeads, a.tokens},
             "[query heads, tokens]");
  return byTokens(lse);
}

void attentionDelta(const Attention &a, const at::Tensor &gradO,
                    const at::Tensor &o,
                    const std::optional<at::Tensor> &gradLse,
                    const at::Tensor &rows) {
  checkShape(a.op, "o", o, {a.tokens, a.queryHeads, a.valueDim},
             "[tokens, query heads, value size]");
  if (gradLse)
    checkShape(a.op, "grad_lse", *gradLse, {a.queryHeads, a.tokens},
               "[query heads, tokens]");
  const at::Tensor output = unitLast(o);
  Launch launch("kernels/nsa/attn_delta.py", "attn_delta");
  launch.rows("o", output).rows("do", gradO).rows("delta", rows);
  launch.integer("T", a.tokens);
  launch.padded("E", "EP", a.valueDim);
  launch.sequence(a.maxSeqlen);
  launch.run(ceilDiv(a.tokens, launch.tile("BT")), a.queryHeads);
  // With scores s and P = softmax(s), d lse / d s = P. The gradient of lse
  // therefore reduces delta in the score gradient P * (dP - delta).
  if (gradLse)
    rows.sub_(byTokens(*gradLse));
}

at::Tensor attentionDelta(const Attention &a, const at::Tensor &gradO,
                          const at::Tensor &o,
                          const std::optional<at::Tensor> &gradLse) {
  at::Tensor delta = a.emptyRows();
  attentionDelta(a, gradO, o, gradLse, delta);
  return delta;
}

at::Tensor outputGradient(const Attention &a, const at::Tensor &gradO) {
  checkShape(a.op, "grad_o", gradO, {a.tokens, a.queryHeads, a.valueDim},
             "[tokens, query heads, value size]");
  return unitLast(gradO.to(a.q.scalar_type()));
}

} // namespace tessera::runtime
