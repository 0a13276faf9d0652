// trainer/generate/Needle.cpp - hides keys and values in held-out text and
// scores the predicted values.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/generate/Needle.h"

#include "support/Error.h"
#include "trainer/checkpoint/TrainedModel.h"
#include "trainer/data/Batches.h"
#include "trainer/loop/Random.h"
#include "trainer/loop/Start.h"

#include <ATen/ATen.h>
#include <cmath>
#include <fmt/format.h>

namespace tessera::trainer {
namespace {

constexpr int64_t needleTokens = needleKey + needleValue;

/// Draws trials from the held-out tokens.
class NeedleMaker {
public:
  NeedleMaker(const TokenStore &row, int64_t length, uint64_t seed)
      : row(row), length(length), seed(seed) {}

  NeedleTrial make(double depth) {
    std::vector<int64_t> needle;
    for (int64_t i = 0; i < needleTokens; ++i)
      needle.push_back(tokensAt(below(row.size()), 1)[0]);
    // `hay` is the text around the needle. The needle inside and its repetition
    // at the end take the rest.
    const int64_t hay = length - 2 * needleTokens;
    const int64_t first = below(row.size() - hay - needleTokens + 1);
    NeedleTrial trial;
    trial.depth = depth;
    trial.without = tokensAt(first, hay + needleTokens);
    trial.tokens.assign(trial.without.begin(), trial.without.begin() + hay);
    trial.tokens.insert(trial.tokens.begin() +
                            int64_t(std::llround(depth * double(hay))),
                        needle.begin(), needle.end());
    for (std::vector<int64_t> *text : {&trial.tokens, &trial.without})
      text->insert(text->end(), needle.begin(), needle.end());
    return trial;
  }

private:
  int64_t below(int64_t bound) {
    return int64_t(randomBelow(seed, drawn++, uint64_t(bound)));
  }
  std::vector<int64_t> tokensAt(int64_t first, int64_t count) const {
    std::vector<int64_t> tokens(static_cast<size_t>(count));
    row.read(first, count, tokens.data());
    return tokens;
  }

  const TokenStore &row;
  int64_t length;
  uint64_t seed, drawn = 0;
};

/// Returns the losses of the last needleValue tokens of `text`, in nats. Sets
/// `right` to the number of them that are the most probable token.
std::vector<double> scoreValue(const TrainedModel &trained,
                               const std::vector<int64_t> &text,
                               int64_t &right) {
  const at::Tensor tokens = at::tensor(text, at::kLong);
  const int64_t last = tokens.size(0) - needleValue;
  models::ForwardOptions options;
  options.perSequence =
      promptValues(readSequenceSources(trained.config.perSequence), 1, last);
  const at::Tensor logits = trained.model->forward(tokens.unsqueeze(0), options)
                                .logits[0]
                                .narrow(0, last - 1, needleValue)
                                .to(at::kFloat);
  const at::Tensor value = tokens.narrow(0, last, needleValue);
  const at::Tensor losses =
      at::cross_entropy_loss(logits, value, {}, at::Reduction::None)
          .to(at::kDouble);
  right = (logits.argmax(-1) == value).sum().item<int64_t>();
  const double *data = losses.const_data_ptr<double>();
  return {data, data + needleValue};
}

} // namespace

std::string findNeedles(const NeedleOptions &options,
                        const std::function<void(const NeedleTrial &)> &each) {
  TrainedModel trained = readTrainedModel(options.run, options.overrides);
  const Corpus corpus = loadCorpus(trained.config);
  // Throws if the data has more tokens than the model.
  withVocabulary(trained.config, corpus);
  const int64_t length = longestText(trained.config);
  if (length < 4 * needleTokens)
    throw Error(fmt::format("the model of {} is made for texts of {} tokens, "
                            "a needle wants {} or more",
                            options.run, length, 4 * needleTokens),
                "evaluate a model of a larger train.seq_len");
  if (corpus.heldOut.size() < length)
    throw Error(fmt::format("{} has {} held-out tokens, fewer than a text of "
                            "{}",
                            corpus.name, corpus.heldOut.size(), length),
                "give more text with data.path");
  const at::NoGradGuard noGrad;
  NeedleMaker maker(corpus.heldOut, length, uint64_t(options.seed));
  for (int64_t d = 0; d < options.depths; ++d)
    for (int64_t i = 0; i < options.trials; ++i) {
      NeedleTrial trial = maker.make(
          options.depths > 1 ? double(d) / double(options.depths - 1) : 0.5);
      int64_t unused = 0;
      trial.losses = scoreValue(trained, trial.tokens, trial.right);
      trial.lossesWithout = scoreValue(trained, trial.without, unused);
      each(trial);
    }
  return trained.note;
}

} // namespace tessera::trainer
