// trainer/generate/HellaSwag.cpp - computes the losses of endings after their
// contexts.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/generate/HellaSwag.h"

#include "support/Error.h"
#include "trainer/checkpoint/TrainedModel.h"
#include "trainer/data/Batches.h"
#include "trainer/settings/Config.h"

#include <ATen/ATen.h>
#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tessera::trainer {
namespace {

/// Rows are padded to a multiple of this. So few lengths occur, for each of
/// which the kernels may need another configuration.
constexpr int64_t lengthStep = 64;

void requireTokens(const MultipleChoice &choice, const std::string &file,
                   int64_t number, int64_t vocabulary) {
  int64_t most =
      *std::max_element(choice.context.begin(), choice.context.end());
  for (const std::vector<int64_t> &ending : choice.endings)
    most = std::max(most, *std::max_element(ending.begin(), ending.end()));
  if (most >= vocabulary)
    throw Error(fmt::format("{}: example {} has the token {}, the model has "
                            "{} tokens",
                            file, number, most, vocabulary),
                "llm.c's file has GPT-2's tokens: train on data that "
                "tessera data prepare --tokenizer made with GPT-2's "
                "vocabulary");
}

int64_t longestEnding(const MultipleChoice &choice) {
  size_t longest = 0;
  for (const std::vector<int64_t> &ending : choice.endings)
    longest = std::max(longest, ending.size());
  return int64_t(longest);
}

int64_t paddedLength(const MultipleChoice &choice) {
  const int64_t longest =
      int64_t(choice.context.size()) + longestEnding(choice);
  return (longest + lengthStep - 1) / lengthStep * lengthStep;
}

/// Scores one example by one forward pass, with a row for each ending:
///
///   row      | context c0 c1 ... cn | ending e0 e1 e2 | padding |
///   logits                       p0          p1 p2
///   loss     = -log p0[e0] - log p1[e1] - log p2[e2]
///
/// No earlier token attends to the padding, so it does not change the loss.
ScoredChoice scoreOne(models::Transformer &model, const MultipleChoice &choice,
                      const std::vector<SequenceSource> &sources) {
  const int64_t context = int64_t(choice.context.size());
  const int64_t length = paddedLength(choice);
  const int64_t rows = int64_t(choice.endings.size());
  at::Tensor tokens = at::zeros({rows, length}, at::kLong);
  for (int64_t row = 0; row < rows; ++row) {
    int64_t *place = tokens.data_ptr<int64_t>() + row * length;
    place = std::copy(choice.context.begin(), choice.context.end(), place);
    std::copy(choice.endings[size_t(row)].begin(),
              choice.endings[size_t(row)].end(), place);
  }
  tokens = tokens.to(model.device());
  models::ForwardOptions options;
  options.perSequence = promptValues(sources, rows, context, model.device());
  const at::Tensor logits = model.forward(tokens, options).logits;
  ScoredChoice result;
  result.label = choice.label;
  std::vector<at::Tensor> sums;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t count = int64_t(choice.endings[size_t(row)].size());
    const at::Tensor losses = at::cross_entropy_loss(
        logits[row].narrow(0, context - 1, count).to(at::kFloat),
        tokens[row].narrow(0, context, count), {}, at::Reduction::None);
    sums.push_back(losses.to(at::kDouble).sum());
    result.tokens.push_back(count);
  }
  const at::Tensor all = at::stack(sums).cpu(); // one copy for all rows
  const double *values = all.const_data_ptr<double>();
  result.losses.assign(values, values + rows);
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

nlohmann::json metricsOf(const ChoiceResult &result) {
  const double all = double(result.examples);
  return {{"val_hellaswag_acc_norm", double(result.right) / all},
          {"val_hellaswag_acc", double(result.rightBySum) / all},
          {"val_hellaswag_examples", result.examples}};
}

std::string describe(const ChoiceResult &result) {
  const auto percent = [&](int64_t right) {
    return 100 * double(right) / double(result.examples);
  };
  return fmt::format("hellaswag: {} of {} right, {:.2f}% by the loss of a "
                     "token (acc_norm), {:.2f}% by that of the ending (acc)",
                     result.right, result.examples, percent(result.right),
                     percent(result.rightBySum));
}

ChoiceSet::ChoiceSet(const std::string &path, int64_t limit,
                     const Config &config)
    : sources(readSequenceSources(config.perSequence)) {
  ChoiceFile file(path);
  const int64_t room = longestText(config);
  const int64_t count = limit > 0 ? std::min(limit, file.size()) : file.size();
  for (int64_t number = 0; number < count; ++number) {
    MultipleChoice choice = file.next();
    requireTokens(choice, path, number, config.model.vocabulary);
    const int64_t endings = longestEnding(choice);
    if (endings >= room)
      throw Error(fmt::format("{}: example {} has an ending of {} tokens, the "
                              "model is made for {} (train.seq_len)",
                              path, number, endings, room),
                  "evaluate a model of a larger train.seq_len");
    const int64_t over = int64_t(choice.context.size()) + endings - room;
    if (over > 0) {
      choice.context.erase(choice.context.begin(),
                           choice.context.begin() + over);
      ++cut;
    }
    examples.push_back(std::move(choice));
  }
}

ChoiceResult
ChoiceSet::score(models::Transformer &model,
                 const std::function<void(const ScoredChoice &)> &each) const {
  const at::NoGradGuard noGrad;
  ChoiceResult result;
  result.cut = cut;
  for (const MultipleChoice &choice : examples) {
    const ScoredChoice scored = scoreOne(model, choice, sources);
    ++result.examples;
    result.right += scored.chosen(true) == scored.label;
    result.rightBySum += scored.chosen(false) == scored.label;
    if (each)
      each(scored);
  }
  return result;
}

std::set<std::pair<int64_t, int64_t>> ChoiceSet::shapes() const {
  std::set<std::pair<int64_t, int64_t>> all;
  for (const MultipleChoice &choice : examples)
    all.emplace(int64_t(choice.endings.size()), paddedLength(choice));
  return all;
}

ChoiceSet choicesOf(const Config &config) {
  return config.hellaSwag.empty()
             ? ChoiceSet()
             : ChoiceSet(config.hellaSwag, config.hellaSwagLimit, config);
}

ChoiceResult
scoreChoices(const EvaluateOptions &options,
             const std::function<void(const ScoredChoice &)> &each) {
  const TrainedModel trained = readTrainedModel(options.run, options.overrides);
  ChoiceResult result =
      ChoiceSet(options.hellaswag, options.limit, trained.config)
          .score(*trained.model, each);
  result.note = trained.note;
  return result;
}

} // namespace tessera::trainer
