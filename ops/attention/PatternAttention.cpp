// ops/attention/PatternAttention.cpp - attention by a pattern's file: runs the
// derived kernels, or the ops that the pattern's directives name.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/Autograd.h"
#include "ops/SymbolicShape.h"
#include "ops/attention/PatternCall.h"
#include "runtime/launch/PatternFile.h"

#include <ATen/ATen.h>
#include <torch/library.h>

namespace tessera::runtime {
namespace {
namespace pattern_attention_op {

using at::Tensor;
using MaybeTensor = std::optional<Tensor>;
using Text = c10::string_view;

constexpr const char *opName = PatternCall::opName;

void checkLearned(const PatternCall &c, const std::vector<std::string> &names) {
  TESSERA_CHECK(names.empty() == !c.learned, opName, c.file, " has ",
                names.size(), " learned numbers for each head, and learned is ",
                c.learned ? "a tensor" : "None",
                "; pass [learned numbers, query heads] exactly if there are "
                "any");
  if (c.learned) {
    checkFloating(opName, "learned", *c.learned);
    checkSymbolicShape(opName, "learned", *c.learned,
                       {int64_t(names.size()), c.q.sym_size(1)},
                       "[learned numbers of the pattern, query heads]");
  }
}

void checkGates(const PatternCall &c, const language::Selection &s) {
  const bool gated = s.streams == language::Streams::Gated;
  TESSERA_CHECK(gated == c.gateLogits.has_value(), opName, c.file,
                gated ? " has a gate for each stream; pass gate_logits "
                        "[tokens, key heads, streams]"
                      : " has no gates; leave gate_logits away");
}

void checkPerSequence(const PatternCall &c,
                      const std::vector<std::string> &names) {
  TESSERA_CHECK(names.empty() == !c.perSequence, opName, c.file, " takes ",
                names.size(), " values of each sequence, and per_sequence is ",
                c.perSequence ? "a tensor" : "None",
                "; pass int32 [values, sequences] exactly if there are any");
}

std::string listOf(const std::vector<std::string> &names) {
  std::string list;
  for (const std::string &name : names)
    list += (list.empty() ? "" : ",") + name;
  return list;
}

// Runs the kernels that are derived from the pattern.
PatternOutput derived(const PatternCall &c, const PatternFile &pattern) {
  static const auto op = findOp<std::tuple<Tensor, Tensor>(
      const Tensor &, const Tensor &, const Tensor &, const Tensor &,
      c10::SymInt, Text, Text, Text, Text, std::optional<double>,
      const MaybeTensor &, Text, const MaybeTensor &, Text)>(
      "custom_attention");
  checkIndexer(c, {});
  checkGates(c, {});
  MaybeTensor learned;
  if (c.learned)
    learned = c.learned->to(at::kFloat)
                  .unsqueeze(0)
                  .expand_symint({c.q.sym_size(0), c.learned->sym_size(0),
                                  c.learned->sym_size(1)});
  auto [o, lse] = op.call(c.q, c.k, c.v, c.cuSeqlens, c.maxSeqlen, pattern.path,
                          pattern.name, pattern.name + "_bwd", c.parameters,
                          c.scale, learned, listOf(pattern.learned),
                          c.perSequence, listOf(pattern.perSequence));
  return {o, lse, c.noIndices(), c.noLoss()};
}

std::tuple<Tensor, Tensor, Tensor, Tensor>
attention(const Tensor &q, const Tensor &k, const Tensor &v,
          const Tensor &cuSeqlens, c10::SymInt maxSeqlen, Text pattern,
          Text parameters, const MaybeTensor &learned,
          const MaybeTensor &perSequence, const MaybeTensor &indexQ,
          const MaybeTensor &indexK, const MaybeTensor &indexWeights,
          const MaybeTensor &gateLogits, std::optional<double> scale) {
  checkRank(opName, "q", q, 3);
  checkRank(opName, "k", k, 3);
  const PatternCall call{
      q,
      k,
      v,
      cuSeqlens,
      std::move(maxSeqlen),
      std::string(pattern),
      std::string(parameters),
      learned,
      perSequence,
      indexQ,
      indexK,
      indexWeights ? MaybeTensor(indexWeights->to(at::kFloat)) : std::nullopt,
      gateLogits,
      scale};
  const PatternOutput r = withValueErrors([&] {
    const auto file = readPatternFile(call.file);
    checkParameters(*file, call.parameters);
    checkLearned(call, file->learned);
    checkPerSequence(call, file->perSequence);
    if (!file->selection)
      return derived(call, *file);
    const auto selection = *selectionOfPattern(call.file, call.parameters);
    checkGates(call, selection);
    return selection.streams == language::Streams::One
               ? selectedPattern(call, selection)
               : streamsPattern(call, selection);
  });
  return {r.o, r.lse, r.indices, r.indexLoss};
}

TORCH_LIBRARY_IMPL(tessera, CompositeImplicitAutograd, m) {
  m.impl(opName, attention);
}

} // namespace pattern_attention_op
} // namespace

at::Tensor PatternCall::noIndices() const {
  return at::empty_symint({0, q.sym_size(0), 0}, q.options().dtype(at::kInt));
}

at::Tensor PatternCall::noLoss() const {
  return at::empty({0}, q.options().dtype(at::kFloat));
}

std::optional<at::Tensor> PatternCall::sink() const {
  return learned ? std::optional(learned->select(0, 0).to(at::kFloat))
                 : std::nullopt;
}

} // namespace tessera::runtime
