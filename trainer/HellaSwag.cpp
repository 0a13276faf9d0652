// trainer/HellaSwag.cpp - losses of endings behind their contexts.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/HellaSwag.h"

#include "support/Error.h"
#include "trainer/TrainedModel.h"
#include "trainer/data/Choices.h"

#include <ATen/ATen.h>
#include <algorithm>
#include <fmt/format.h>

namespace tessera::trainer {
namespace {

/// Rows have one of few lengths: a kernel is chosen by it.
constexpr int64_t lengthStep = 64;

void requireTokens(const Choice &choice, int64_t number, int64_t vocabulary,
                   const EvaluateOptions &options) {
  int64_t most =
      *std::max_element(choice.context.begin(), choice.context.end());
  for (const std::vector<int64_t> &ending : choice.endings)
    most = std::max(most, *std::max_element(ending.begin(), ending.end()));
  if (most >= vocabulary)
    throw Error(fmt::format("{}: example {} has the token {}, the model of {} "
                            "has {} tokens",
                            options.hellaswag, number, most, options.run,
                            vocabulary),
                "llm.c's file has GPT-2's tokens: train on data that "
                "tessera data prepare --tokenizer made with GPT-2's "
                "vocabulary");
}

size_t longestEnding(const Choice &choice) {
  size_t longest = 0;
  for (const std::vector<int64_t> &ending : choice.endings)
    longest = std::max(longest, ending.size());
  return longest;
}

/// Context and ending in each row, padded at the end, which no token before
/// sees. The loss of token i of an ending is told by the place before it.
ScoredChoice score(models::Transformer &model, const Choice &choice) {
  const int64_t context = int64_t(choice.context.size());
  const int64_t longest = context + int64_t(longestEnding(choice));
  const int64_t length = (longest + lengthStep - 1) / lengthStep * lengthStep;
  const int64_t rows = int64_t(choice.endings.size());
  at::Tensor tokens = at::zeros({rows, length}, at::kLong);
  for (int64_t row = 0; row < rows; ++row) {
    int64_t *place = tokens.data_ptr<int64_t>() + row * length;
    place = std::copy(choice.context.begin(), choice.context.end(), place);
    std::copy(choice.endings[size_t(row)].begin(),
              choice.endings[size_t(row)].end(), place);
  }
  const at::Tensor logits = model.forward(tokens).logits;
  ScoredChoice result;
  result.label = choice.label;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t count = int64_t(choice.endings[size_t(row)].size());
    const at::Tensor losses = at::cross_entropy_loss(
        logits[row].narrow(0, context - 1, count).to(at::kFloat),
        tokens[row].narrow(0, context, count), {}, at::Reduction::None);
    result.losses.push_back(losses.to(at::kDouble).sum().item<double>());
    result.tokens.push_back(count);
  }
  return result;
}

} // namespace

int64_t ScoredChoice::chosen(bool byToken) const {
  size_t best = 0;
  const auto loss = [&](size_t i) {
    return byToken ? losses[i] / double(tokens[i]) : losses[i];
  };
  for (size_t i = 1; i < losses.size(); ++i)
    if (loss(i) < loss(best))
      best = i;
  return int64_t(best);
}

ChoiceResult
scoreChoices(const EvaluateOptions &options,
             const std::function<void(const ScoredChoice &)> &each) {
  ChoiceFile file(options.hellaswag);
  TrainedModel trained = readTrainedModel(options.run, options.overrides);
  const at::NoGradGuard noGrad;
  const int64_t room = longestText(trained.config);
  const int64_t examples =
      options.limit > 0 ? std::min(options.limit, file.size()) : file.size();
  ChoiceResult result;
  for (; result.examples < examples; ++result.examples) {
    Choice choice = file.next();
    requireTokens(choice, result.examples, trained.config.model.vocabulary,
                  options);
    const int64_t endings = int64_t(longestEnding(choice));
    if (endings >= room)
      throw Error(fmt::format("{}: example {} has an ending of {} tokens, the "
                              "model of {} is made for {} (train.seq_len)",
                              options.hellaswag, result.examples, endings,
                              options.run, room),
                  "evaluate a model of a larger train.seq_len");
    const int64_t over = int64_t(choice.context.size()) + endings - room;
    if (over > 0) {
      choice.context.erase(choice.context.begin(),
                           choice.context.begin() + over);
      ++result.cut;
    }
    const ScoredChoice scored = score(*trained.model, choice);
    result.right += scored.chosen(true) == scored.label;
    result.rightBySum += scored.chosen(false) == scored.label;
    each(scored);
  }
  return result;
}

} // namespace tessera::trainer
