// models/TesseraKernels.cpp - implements the model's operations by compiled
// kernels, as calls of torch operations.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// The dispatcher finds the torch operations by name, so the library that
// registers them (ops/) must be linked or loaded.
#include "models/Kernels.h"
#include "models/Linear.h"
#include "models/RopeTable.h"
#include "ops/Attention.h"
#include "runtime/launch/PatternFile.h"

#include "support/Error.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <set>

namespace tessera::models {
namespace {

using at::Tensor;
using MaybeTensor = std::optional<Tensor>;
using Pair = std::tuple<Tensor, Tensor>;

template <typename F>
c10::TypedOperatorHandle<F> find(const char *name,
                                 const char *space = "tessera") {
  const std::string full = std::string(space) + "::" + name;
  const auto op = c10::Dispatcher::singleton().findSchema({full.c_str(), ""});
  if (!op)
    throw Error("kernels=tessera needs the torch operation " + full +
                    ", which is not registered in this program",
                "set kernels=torch, or build with ops");
  return op->typed<F>();
}

MaybeTensor maybe(const Tensor &x) {
  return x.defined() ? MaybeTensor(x) : std::nullopt;
}

class TesseraKernels final : public Kernels {
public:
  Tensor rmsNorm(const Tensor &x, const Tensor &weight,
                 double epsilon) override {
    return norm.call(x, weight, epsilon);
  }

  std::pair<Tensor, Tensor> residualNorm(const Tensor &x, const Tensor &added,
                                         const Tensor &weight,
                                         double epsilon) override {
    auto [sum, y] = sumNorm.call(x, added, weight, epsilon);
    return {sum, y};
  }

  Tensor linear(const Tensor &x, const Tensor &weight) override {
    return models::linear(x, weight);
  }

  Tensor linearLoss(const Tensor &hidden, const Tensor &weight,
                    const Tensor &targets, bool keepLogits) override {
    return loss.call(hidden, weight, targets, /*ignore_index=*/-100, "none",
                     keepLogits);
  }

  Tensor activation(MlpKind kind, const Tensor &in,
                    const Tensor &gate) override {
    switch (kind) {
    case MlpKind::SquaredRelu:
      return act.call(in, "relu2", std::nullopt);
    case MlpKind::Silu:
      return at::silu(in); // faster than the compiled kernel
    case MlpKind::SwiGlu:
      return act.call(in, "swiglu", gate);
    }
    return {};
  }

  Tensor rope(const Tensor &x, const Packing &packing,
              const Rope &positions) override {
    const int64_t dim = x.size(2);
    // The table is not compared with `positions`: all layers of a model have
    // the same RoPE settings.
    if (!cosine.defined() || cosine.size(0) < packing.length ||
        cosine.size(1) != dim / 2 || cosine.device() != x.device()) {
      std::tie(cosine, sine) = ropeTable(positions, dim, 0, packing.length);
      cosine = cosine.to(x.device());
      sine = sine.to(x.device());
    }
    return rotate.call(x, cosine, sine, packing.sequenceStarts, packing.length,
                       /*first_position=*/0, /*inverse=*/false);
  }

  Tensor denseAttention(const Tensor &q, const Tensor &k, const Tensor &v,
                        const Packing &packing) override {
    return std::get<0>(dense.call(q, k, v, packing.sequenceStarts,
                                  packing.length, std::nullopt));
  }

  bool decodes() const override { return true; }
  Tensor decodeAttention(const Tensor &q, const Tensor &k, const Tensor &v,
                         int64_t first, int64_t last, const Tensor &blocks,
                         int64_t blockLength) override {
    return std::get<0>(decode.call(q, k, v, first, last, maybe(blocks),
                                   blockLength, /*splits=*/0, std::nullopt));
  }

  std::pair<Tensor, Tensor> decodeCompressed(const Tensor &q, const Tensor &k,
                                             const Tensor &v, int64_t position,
                                             const NsaGeometry &nsa) override {
    auto [o, lse, indices] = compressedOfOne.call(
        q, k, v, position, nsa.blockLength, nsa.stride, nsa.selectionLength,
        nsa.selectedBlocks, nsa.initialBlocks, nsa.localBlocks, std::nullopt);
    return {o, indices};
  }

  NsaResult nsaAttention(const NsaInputs &in, const ModelConfig &config,
                         const Packing &packing) override {
    if (in.compressed)
      return nsaOfCompressed(in, config, packing);
    const NsaGeometry &g = config.nsa;
    // Zeroing a branch's values has the effect of a zero gate, because
    // attention is linear in its values.
    const auto values = [&](const Tensor &v, int branch) {
      return in.without == branch ? at::zeros_like(v) : v;
    };
    const auto [output, indices, gates] = nsa.call(
        in.query, in.keyCmp, values(in.valueCmp, 0), in.keySel,
        values(in.valueSel, 1), in.keyWin, values(in.valueWin, 2),
        in.gateLogits, packing.sequenceStarts, packing.compressedStarts,
        packing.length, packing.compressed, g.blockLength, g.stride,
        g.selectionLength, g.selectedBlocks, g.window, g.initialBlocks,
        g.localBlocks, maybe(in.keyFilter), maybe(in.valueFilter),
        config.gateMode == GateMode::Softmax ? "softmax" : "sigmoid",
        config.gateTemperature, std::nullopt);
    return {output, indices};
  }

  Tensor customAttention(const Tensor &q, const Tensor &k, const Tensor &v,
                         const Tensor &learned, const Tensor &perSequence,
                         const CustomAttention &custom,
                         const Packing &packing) override {
    std::string names;
    if (perSequence.defined())
      names = fmt::format(
          "{}",
          fmt::join(runtime::readPatternFile(custom.file)->perSequence, ","));
    return std::get<0>(customOp.call(
        q, k, v, packing.sequenceStarts, packing.length, custom.file,
        custom.forward, custom.backward, custom.constexprs, std::nullopt,
        maybe(learned), custom.allLearned(), maybe(perSequence), names));
  }

  PatternResult patternAttention(const PatternInputs &in,
                                 const CustomAttention &custom,
                                 const Packing &packing) override {
    patterns.insert(runtime::readPatternFile(custom.file));
    AttentionOptions options;
    options.parameters = custom.constexprs;
    options.learned = maybe(in.learned);
    options.indexQ = maybe(in.indexQuery);
    options.indexK = maybe(in.indexKey);
    options.indexWeights = maybe(in.indexWeights);
    options.gateLogits = maybe(in.gateLogits);
    const AttentionResult r =
        attention(in.query, in.key, in.value, packing.sequenceStarts,
                  packing.length, custom.file, options);
    return {r.o, r.indices, r.indexLoss};
  }

  Tensor decodePattern(const Tensor &q, const Tensor &k, const Tensor &v,
                       int64_t first, const Tensor &numbers,
                       const Tensor &perSequence,
                       const CustomAttention &custom) override {
    return patternDecode.call(q, k, v, first, custom.file, custom.constexprs,
                              std::nullopt, maybe(numbers), maybe(perSequence));
  }
  Tensor patternScores(const Tensor &products, int64_t first,
                       const Tensor &number,
                       const CustomAttention &custom) override {
    return scoresOf.call(
        products, first, custom.file,
        runtime::constantsOfPattern(custom.file, custom.constexprs),
        maybe(number));
  }
  int64_t firstReader(int64_t first, int64_t last, int64_t heads,
                      const Tensor &perSequence,
                      const CustomAttention &custom) override {
    return patternReader.call(
        first, last, heads, custom.file, custom.constexprs,
        perSequence.defined() ? perSequence.size(1) : 1, maybe(perSequence));
  }

  KernelCounts counts() const override {
    const auto [compiled, loaded, hits, bad] = stats.call();
    const auto [packed, missed, workers] = ofPack.call();
    return {compiled, loaded, packed, missed, workers};
  }

  std::vector<std::string> listLaunches(const std::function<void()> &body,
                                        bool prepare) override {
    begin.call(/*run=*/false);
    try {
      body();
    } catch (...) {
      end.call(false);
      throw;
    }
    return end.call(prepare);
  }

  void beginList() override { begin.call(/*run=*/true); }
  std::vector<std::string> listed(const std::string &target) override {
    return list.call(target);
  }
  void endList() override { end.call(/*prepare=*/false); }

  std::vector<KernelFile> files() const override {
    const auto [paths, texts] = fileList.call();
    std::vector<KernelFile> result;
    for (size_t i = 0; i < paths.size(); ++i)
      result.push_back({paths[i], texts[i]});
    for (const auto &pattern : patterns)
      result.push_back({pattern->path, pattern->text});
    return result;
  }

  TuningTable tuningTable(at::Device device) const override {
    auto [path, origin, sha256] = table.call(device);
    return {std::move(path), std::move(origin), std::move(sha256)};
  }

  std::vector<TunedLaunch> tunedLaunches() const override {
    const auto [launches, configurations, sources] = configured.call();
    std::vector<TunedLaunch> result;
    for (size_t i = 0; i < launches.size(); ++i)
      result.push_back({launches[i], configurations[i], sources[i]});
    return result;
  }

private:
  /// Computes NSA for keys and values that are compressed already.
  NsaResult nsaOfCompressed(const NsaInputs &in, const ModelConfig &config,
                            const Packing &p) {
    const NsaGeometry &g = config.nsa;
    const auto values = [&](const Tensor &v, int branch) {
      return in.without == branch ? at::zeros_like(v) : v;
    };
    const auto [output, indices, gates] =
        gated.call(in.query, in.keyCmp, values(in.valueCmp, 0), in.keySel,
                   values(in.valueSel, 1), in.keyWin, values(in.valueWin, 2),
                   in.gateLogits, p.sequenceStarts, p.compressedStarts,
                   p.length, g.blockLength, g.stride, g.selectionLength,
                   g.selectedBlocks, g.window, g.initialBlocks, g.localBlocks,
                   config.gateMode == GateMode::Softmax ? "softmax" : "sigmoid",
                   config.gateTemperature, std::nullopt);
    return {output, indices};
  }

  using Gated = std::tuple<Tensor, Tensor, Tensor>(
      const Tensor &, const Tensor &, const Tensor &, const Tensor &,
      const Tensor &, const Tensor &, const Tensor &, const Tensor &,
      const Tensor &, const Tensor &, c10::SymInt, int64_t, int64_t, int64_t,
      int64_t, int64_t, int64_t, int64_t, c10::string_view, double,
      std::optional<double>);
  c10::TypedOperatorHandle<Gated> gated = find<Gated>("nsa_gated_attention");
  using Norm = Tensor(const Tensor &, const Tensor &, double);
  c10::TypedOperatorHandle<Norm> norm = find<Norm>("rms_norm");
  using SumNorm = Pair(const Tensor &, const Tensor &, const Tensor &, double);
  c10::TypedOperatorHandle<SumNorm> sumNorm = find<SumNorm>("residual_norm");
  using Loss = Tensor(const Tensor &, const Tensor &, const Tensor &, int64_t,
                      c10::string_view, bool);
  c10::TypedOperatorHandle<Loss> loss = find<Loss>("linear_cross_entropy");
  using Act = Tensor(const Tensor &, c10::string_view, const MaybeTensor &);
  c10::TypedOperatorHandle<Act> act = find<Act>("mlp_activation");
  using Rotate = Tensor(const Tensor &, const Tensor &, const Tensor &,
                        const Tensor &, c10::SymInt, int64_t, bool);
  c10::TypedOperatorHandle<Rotate> rotate = find<Rotate>("rope");
  using Dense = Pair(const Tensor &, const Tensor &, const Tensor &,
                     const Tensor &, c10::SymInt, std::optional<double>);
  c10::TypedOperatorHandle<Dense> dense = find<Dense>("dense_attention");
  using Decode = Pair(const Tensor &, const Tensor &, const Tensor &, int64_t,
                      int64_t, const MaybeTensor &, int64_t, int64_t,
                      std::optional<double>);
  c10::TypedOperatorHandle<Decode> decode = find<Decode>("decode_attention");
  using DecodeCompressed = std::tuple<Tensor, Tensor, Tensor>(
      const Tensor &, const Tensor &, const Tensor &, int64_t, int64_t, int64_t,
      int64_t, int64_t, int64_t, int64_t, std::optional<double>);
  c10::TypedOperatorHandle<DecodeCompressed> compressedOfOne =
      find<DecodeCompressed>("decode_compressed");
  using Nsa = std::tuple<Tensor, Tensor, Tensor>(
      const Tensor &, const Tensor &, const Tensor &, const Tensor &,
      const Tensor &, const Tensor &, const Tensor &, const Tensor &,
      const Tensor &, const Tensor &, c10::SymInt, c10::SymInt, int64_t,
      int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, const MaybeTensor &,
      const MaybeTensor &, c10::string_view, double, std::optional<double>);
  c10::TypedOperatorHandle<Nsa> nsa = find<Nsa>("nsa_attention");
  using Custom = Pair(const Tensor &, const Tensor &, const Tensor &,
                      const Tensor &, c10::SymInt, c10::string_view,
                      c10::string_view, c10::string_view, c10::string_view,
                      std::optional<double>, const MaybeTensor &,
                      c10::string_view, const MaybeTensor &, c10::string_view);
  c10::TypedOperatorHandle<Custom> customOp = find<Custom>("custom_attention");
  /// Patterns that select blocks. fileList() does not list a file from which
  /// no kernel was compiled.
  std::set<std::shared_ptr<const runtime::PatternFile>> patterns;
  using PatternDecode = Tensor(const Tensor &, const Tensor &, const Tensor &,
                               int64_t, c10::string_view, c10::string_view,
                               std::optional<double>, const MaybeTensor &,
                               const MaybeTensor &);
  c10::TypedOperatorHandle<PatternDecode> patternDecode =
      find<PatternDecode>("pattern_decode");
  using PatternScores = Tensor(const Tensor &, int64_t, c10::string_view,
                               c10::string_view, const MaybeTensor &);
  c10::TypedOperatorHandle<PatternScores> scoresOf =
      find<PatternScores>("pattern_scores");
  using PatternReader = int64_t(int64_t, int64_t, int64_t, c10::string_view,
                                c10::string_view, int64_t, const MaybeTensor &);
  c10::TypedOperatorHandle<PatternReader> patternReader =
      find<PatternReader>("pattern_first_reader");
  using Stats = std::tuple<int64_t, int64_t, int64_t, int64_t>();
  c10::TypedOperatorHandle<Stats> stats = find<Stats>("kernel_stats");
  using OfPack = std::tuple<int64_t, int64_t, int64_t>();
  c10::TypedOperatorHandle<OfPack> ofPack =
      find<OfPack>("pack_stats", "tessera_internal");

  using Files =
      std::tuple<std::vector<std::string>, std::vector<std::string>>();
  c10::TypedOperatorHandle<Files> fileList =
      find<Files>("kernel_files", "tessera_internal");
  using Table = std::tuple<std::string, std::string, std::string>(at::Device);
  c10::TypedOperatorHandle<Table> table =
      find<Table>("tuning_table", "tessera_internal");
  using Configured =
      std::tuple<std::vector<std::string>, std::vector<std::string>,
                 std::vector<std::string>>();
  c10::TypedOperatorHandle<Configured> configured =
      find<Configured>("tuned_launches", "tessera_internal");
  using Begin = void(bool);
  c10::TypedOperatorHandle<Begin> begin =
      find<Begin>("begin_listing", "tessera_internal");
  using List = std::vector<std::string>(c10::string_view);
  c10::TypedOperatorHandle<List> list =
      find<List>("listed_launches", "tessera_internal");
  using End = std::vector<std::string>(bool);
  c10::TypedOperatorHandle<End> end =
      find<End>("end_listing", "tessera_internal");

  Tensor cosine, sine;
};

} // namespace

std::unique_ptr<Kernels> makeTesseraKernels() {
  return std::make_unique<TesseraKernels>();
}

} // namespace tessera::models
