// models/ModelConfig.cpp - checks the sizes of a model and derives the settings
// of its layers.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/ModelConfig.h"

#include "runtime/launch/PatternFile.h"
#include "support/Error.h"
#include "support/Text.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>

namespace tessera::models {
namespace {

/// Returns the selection of a layer's pattern; nullopt if the pattern has no
/// select(...). Also nullopt if the file does not exist: a stored run replaces
/// it by its copy.
std::optional<runtime::PatternSelection> selectionOf(const LayerKind &layer) {
  if (layer.kind != AttentionKind::Kernel || layer.custom.pattern.empty() ||
      !runtime::isKernelFile(layer.custom.file))
    return std::nullopt;
  return runtime::selectionOfPattern(layer.custom.file,
                                     layer.custom.constexprs);
}

void requirePositive(const char *key, int64_t value) {
  if (value <= 0)
    throw Error(fmt::format("{} must be positive, found {}", key, value),
                fmt::format("set {}=N with N at least 1", key));
}

void validateGeometry(const NsaGeometry &g) {
  requirePositive("nsa.l", g.blockLength);
  requirePositive("nsa.d", g.stride);
  requirePositive("nsa.l_sel", g.selectionLength);
  if (g.stride > g.blockLength)
    throw Error(fmt::format("nsa.d ({}) is greater than nsa.l ({}): tokens "
                            "between compressed blocks would be lost",
                            g.stride, g.blockLength),
                "choose d so that it divides l, usually l/2");
  if (g.blockLength % g.stride != 0)
    throw Error(fmt::format("nsa.d ({}) does not divide nsa.l ({})", g.stride,
                            g.blockLength),
                "choose d so that it divides both l and l_sel");
  if (g.selectionLength % g.stride != 0)
    throw Error(fmt::format("nsa.d ({}) does not divide nsa.l_sel ({})",
                            g.stride, g.selectionLength),
                "choose d so that it divides both l and l_sel");
  if (g.window < 0)
    throw Error(fmt::format("nsa.w is negative ({})", g.window),
                "nsa.w=0 turns the window branch off");
  const int64_t forced = g.initialBlocks + g.localBlocks;
  if (g.selectedBlocks != 0 && g.selectedBlocks < forced)
    throw Error(fmt::format("nsa.n_sel ({}) is less than the {} blocks that "
                            "are always kept ({} initial, {} local)",
                            g.selectedBlocks, forced, g.initialBlocks,
                            g.localBlocks),
                "raise nsa.n_sel, or set it to 0 to turn selection off");
}

/// Throws if no branch is used, or if nsa.force_gate names an unused branch.
/// A branch without keys counts as unused.
void validateBranches(const ModelConfig &c) {
  const bool used[] = {c.useCompressed,
                       c.useSelected && c.nsa.selectedBlocks > 0,
                       c.useWindow && c.nsa.window > 0};
  if (!used[0] && !used[1] && !used[2])
    throw Error("no branch of the attention is used",
                "set one of nsa.use_cmp, nsa.use_sel and nsa.use_win to true");
  constexpr const char *names[] = {"cmp", "sel", "win"};
  const int forced = int(c.gateOverride) - int(GateOverride::Compressed);
  if (forced >= 0 && forced < 3 && !used[forced])
    throw Error(fmt::format("nsa.force_gate is {0}, but the {0} branch is not "
                            "used",
                            names[forced]),
                "set its nsa.use_* to true, and nsa.n_sel or nsa.w above 0");
}

void validateKernels(const LayerKind &layer) {
  if (layer.kind != AttentionKind::Kernel)
    return;
  const CustomAttention &custom = layer.custom;
  for (const auto &[key, value] :
       {std::pair("attention.kernel", &custom.file),
        std::pair("attention.fwd", &custom.forward),
        std::pair("attention.bwd", &custom.backward)})
    if (value->empty())
      throw Error(fmt::format("{} is missing", key),
                  "write attention: {kernel: FILE.py, fwd: NAME, bwd: "
                  "NAME_bwd}");
}

void validateRope(const Rope &rope) {
  if (!rope.changed() || rope.scaling == RopeScaling::Linear)
    return;
  if (!(rope.base > 1))
    throw Error(fmt::format("model.rope_scaling is yarn, and model.rope_base "
                            "is {}",
                            rope.base),
                "YaRN wants a base above 1; 10000 is usual");
  if (!(rope.fast > rope.slow))
    throw Error(fmt::format("model.rope_beta_fast ({}) is not above "
                            "model.rope_beta_slow ({})",
                            rope.fast, rope.slow),
                "32 and 1 are YaRN's own");
  if (rope.originalLength <= 0)
    throw Error("model.rope_scaling is yarn without model.rope_original_len",
                "give the tokens of a sequence before the scaling");
}

void validateValueEmbeddings(const ModelConfig &c) {
  const LayerSet &set = c.valueEmbeddings;
  if (set.count > c.layers)
    throw Error(fmt::format("model.value_embeddings is {}, but model.n_layers "
                            "is {}",
                            set.count, c.layers),
                fmt::format("{} gives every layer a table", c.layers));
  for (const int64_t layer : set.listed) {
    if (layer < 0 || layer >= c.layers)
      throw Error(fmt::format("model.value_embeddings lists layer {}, but the "
                              "layers are 0 to {}",
                              layer, c.layers - 1),
                  "layers are counted from 0");
    if (std::count(set.listed.begin(), set.listed.end(), layer) > 1)
      throw Error(
          fmt::format("model.value_embeddings lists layer {} twice", layer),
          "name each layer once");
  }
}

} // namespace

std::vector<std::string> CustomAttention::learnedNames() const {
  return namesOfList(learned);
}

std::vector<std::string> CustomAttention::headLearnedNames() const {
  return namesOfList(headLearned);
}

std::string CustomAttention::allLearned() const {
  std::vector<std::string> names = headLearnedNames();
  for (std::string &name : learnedNames())
    names.push_back(std::move(name));
  return fmt::format("{}", fmt::join(names, ","));
}

NsaGeometry geometryOf(const language::Selection &s) {
  NsaGeometry g;
  g.blockLength = s.length;
  g.stride = s.stride;
  g.selectionLength = s.block;
  g.selectedBlocks = s.top;
  g.window = s.window;
  g.initialBlocks = s.first;
  g.localBlocks = s.local;
  return g;
}

LayerKind ModelConfig::attentionOf(int64_t layer) const {
  if (kinds.empty())
    return {attention, custom};
  return kinds[size_t(layer) % kinds.size()];
}

LayerKind ModelConfig::builtAttentionOf(int64_t layer) const {
  LayerKind mine = attentionOf(layer);
  const auto selection = selectionOf(mine);
  if (selection && selection->streams == runtime::Streams::Gated) {
    mine.kind = AttentionKind::Nsa;
    mine.nsa = geometryOf(*selection);
  }
  return mine;
}

int64_t ModelConfig::branchesOf(int64_t layer) const {
  const LayerKind mine = attentionOf(layer);
  if (mine.kind == AttentionKind::Nsa)
    return 3;
  const auto selection = selectionOf(mine);
  return selection ? selection->pairs() : 1;
}

bool LayerSet::has(int64_t layer, int64_t layers) const {
  if (listed.empty())
    return (layer + 1) * count / layers > layer * count / layers;
  return std::find(listed.begin(), listed.end(), layer) != listed.end();
}

int64_t ModelConfig::valueTables() const {
  int64_t count = 0;
  for (int64_t layer = 0; layer < layers; ++layer)
    count += valueEmbeddings.has(layer, layers);
  return count;
}

int64_t ModelConfig::layersWith(AttentionKind kind) const {
  if (kinds.empty())
    return attention == kind ? layers : 0;
  std::vector<int64_t> counts(kinds.size());
  for (size_t i = 0; i < kinds.size(); ++i)
    counts[i] = builtAttentionOf(int64_t(i)).kind == kind;
  int64_t count = 0;
  for (int64_t layer = 0; layer < layers; ++layer)
    count += counts[size_t(layer) % kinds.size()];
  return count;
}

int64_t phiWidth(const ModelConfig &config, int64_t headDim) {
  return config.phiHidden > 0 ? config.phiHidden : 2 * headDim;
}

void validate(const ModelConfig &c) {
  requirePositive("model.dim", c.dim);
  requirePositive("model.n_layers", c.layers);
  requirePositive("model.n_heads", c.heads);
  requirePositive("model.n_kv_groups", c.kvHeads);
  requirePositive("model.d_k", c.keyDim);
  requirePositive("model.d_v", c.valueDim);
  requirePositive("model.mlp_dim", c.mlpDim);
  if (c.heads % c.kvHeads != 0)
    throw Error(fmt::format("model.n_heads ({}) is not a multiple of "
                            "model.n_kv_groups ({})",
                            c.heads, c.kvHeads),
                "every key/value head serves the same number of query heads");
  if (c.keyDim % 2 != 0)
    throw Error(fmt::format("model.d_k ({}) is odd", c.keyDim),
                "rotary positions turn pairs of channels; use an even size");
  if (!(c.gateTemperature > 0))
    throw Error(fmt::format("nsa.gate_temperature must be positive, found {}",
                            c.gateTemperature),
                "1.0 leaves the gates as they are");
  for (int64_t layer = 0; layer < c.layers; ++layer)
    validateKernels(c.attentionOf(layer));
  if (int64_t(c.kinds.size()) > c.layers)
    throw Error(fmt::format("attention lists {} kinds, but model.n_layers is "
                            "{}",
                            c.kinds.size(), c.layers),
                "leave away the entries that no layer has, or raise "
                "model.n_layers");
  validateRope(c.rope);
  validateValueEmbeddings(c);
  if (c.has(AttentionKind::Nsa)) {
    validateGeometry(c.nsa);
    validateBranches(c);
  }
}

} // namespace tessera::models
