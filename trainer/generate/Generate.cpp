// trainer/generate/Generate.cpp - samples one token at a time, with a cache.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/generate/Generate.h"

#include "support/Error.h"
#include "trainer/checkpoint/TrainedModel.h"
#include "trainer/data/Batches.h"
#include "trainer/generate/TextCode.h"
#include "trainer/loop/Random.h"

#include <ATen/ATen.h>
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <optional>

namespace tessera::trainer {
namespace {

constexpr int64_t mostTokensDrawn = 100'000'000, mostSamples = 4096;

/// Throws tessera::Error if an option is out of range or the prompt is empty.
void requireSane(const GenerateOptions &o) {
  const auto refuse = [](bool bad, const char *option, double value,
                         const char *range) {
    if (bad)
      throw Error(fmt::format("--{} is {}", option, value),
                  fmt::format("give {}", range));
  };
  refuse(!(o.draw.temperature >= 0) || std::isinf(o.draw.temperature),
         "temperature", o.draw.temperature,
         "0 (always the likeliest token) or more");
  refuse(!(o.draw.topP >= 0 && o.draw.topP <= 1), "top-p", o.draw.topP,
         "0 to 1");
  refuse(o.draw.topK < 0, "top-k", double(o.draw.topK),
         "0 (all tokens) or more");
  refuse(o.tokens < 0 || o.tokens > mostTokensDrawn, "tokens", double(o.tokens),
         "0 to 1e8");
  refuse(o.samples < 1 || o.samples > mostSamples, "samples", double(o.samples),
         "1 to 4096");
  if (o.prompt.empty())
    throw Error("the prompt is empty", "give at least one byte to start from");
}

/// Returns the last `last` tokens of each row, int64 [rows, last].
at::Tensor tensorOf(const std::vector<std::vector<int64_t>> &rows,
                    size_t last) {
  at::Tensor all = at::empty({int64_t(rows.size()), int64_t(last)}, at::kLong);
  for (size_t row = 0; row < rows.size(); ++row)
    std::copy(rows[row].end() - int64_t(last), rows[row].end(),
              all.data_ptr<int64_t>() + row * last);
  return all;
}

} // namespace

models::Reads
generate(const GenerateOptions &options,
         const std::function<void(int64_t, std::string_view)> &emit) {
  requireSane(options);
  const TrainedModel trained = readTrainedModel(options.run, options.overrides);
  const Config &config = trained.config;
  models::Transformer &model = *trained.model;
  TextCode code(config);
  const at::NoGradGuard noGrad;

  std::vector<std::vector<int64_t>> rows(size_t(options.samples),
                                         code.encode(options.prompt));
  std::vector<bool> ended(rows.size());
  const int64_t room = longestText(config), prompt = int64_t(rows[0].size());
  const auto sources = readSequenceSources(config.perSequence);
  std::optional<models::Cache> cache;
  models::Reads reads;
  const bool custom = !models::hasCache(config.model);
  const auto add = [&](const models::Reads &more) {
    reads.compressed += more.compressed;
    reads.selected += more.selected;
    reads.window += more.window;
    reads.predicted += more.predicted;
  };
  for (int64_t i = 0; i < options.tokens; ++i) {
    const int64_t length = int64_t(rows[0].size());
    int64_t more = 1;
    if (custom) {
      more = std::min(length, room);
    } else if (!cache || cache->length() == room) {
      if (cache)
        add(cache->reads());
      more = std::min(length, cache ? std::max<int64_t>(1, room / 2) : room);
      // Of a text longer than the cache, the model reads only the end.
      const int64_t dropped = length - more;
      cache.emplace(config.model, options.samples, room,
                    promptValues(sources, options.samples,
                                 std::max<int64_t>(0, prompt - dropped)));
    }
    const at::Tensor window = tensorOf(rows, size_t(more));
    const at::Tensor logits =
        (custom ? model.forward(window).logits : model.extend(window, *cache))
            .select(1, more - 1)
            .to(at::kFloat)
            .contiguous();
    const size_t vocabulary = size_t(logits.size(1));
    for (size_t row = 0; row < rows.size(); ++row) {
      const int64_t next = drawToken(
          {logits.const_data_ptr<float>() + row * vocabulary, vocabulary},
          options.draw,
          randomUnit(uint64_t(options.seed),
                     uint64_t(row) << 32 | uint64_t(i)));
      rows[row].push_back(next);
      const auto text = code.decode(next);
      ended[row] = ended[row] || !text;
      if (!ended[row])
        emit(int64_t(row), *text);
    }
    if (std::all_of(ended.begin(), ended.end(), [](bool e) { return e; }))
      break;
  }
  if (cache)
    add(cache->reads());
  return reads;
}

} // namespace tessera::trainer
