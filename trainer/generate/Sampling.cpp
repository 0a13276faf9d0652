// trainer/generate/Sampling.cpp - continues the first held-out tokens.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/generate/Sampling.h"

#include "trainer/data/Batches.h"
#include "trainer/generate/DrawToken.h"
#include "trainer/generate/TextCode.h"
#include "trainer/loop/Random.h"
#include "trainer/settings/Config.h"

#include <ATen/ATen.h>
#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace tessera::trainer {
namespace {

constexpr int64_t promptTokens = 32;

std::optional<TextCode> codeOf(const Corpus &corpus, const Config &config) {
  if (config.tokenizerPath.empty() && corpus.tokenizer != "byte")
    return std::nullopt;
  return TextCode(config);
}

std::string textOf(const std::optional<TextCode> &code, const int64_t *tokens,
                   int64_t count) {
  std::string text;
  for (int64_t i = 0; i < count; ++i)
    text += code ? code->decode(tokens[i]).value_or("")
                 : fmt::format("{}{}", i ? " " : "", tokens[i]);
  return text;
}

} // namespace

void requireSamples(const Corpus &corpus, const Config &config) {
  if (config.sampleEvery > 0)
    codeOf(corpus, config);
}

Sample drawSample(models::Transformer &model, const Corpus &corpus,
                  const Config &config) {
  const at::NoGradGuard noGrad;
  const int64_t length = config.sequenceLength;
  const int64_t prompt = std::min(promptTokens, length / 2);
  const int64_t end = std::min(length, prompt + config.sampleTokens);
  at::Tensor tokens = at::zeros({1, length}, at::kLong);
  int64_t *places = tokens.data_ptr<int64_t>();
  corpus.heldOut.read(0, prompt, places);
  models::ForwardOptions options;
  options.perSequence = promptValues(readSequenceSources(config.perSequence), 1,
                                     prompt, model.device());
  for (int64_t i = prompt; i < end; ++i) {
    // Token i - 1 does not attend to the zeros after it.
    const at::Tensor logits = model.forward(tokens.to(model.device()), options)
                                  .logits[0][i - 1]
                                  .to(at::kCPU, at::kFloat);
    places[i] = drawToken(
        {logits.contiguous().const_data_ptr<float>(), size_t(logits.size(0))},
        {}, randomUnit(uint64_t(config.seed), uint64_t(i)));
  }
  const std::optional<TextCode> code = codeOf(corpus, config);
  return {textOf(code, places, prompt),
          textOf(code, places + prompt, end - prompt)};
}

} // namespace tessera::trainer
