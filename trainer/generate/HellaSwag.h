// trainer/generate/HellaSwag.h - scores a model on the multiple-choice examples
// of HellaSwag, in evaluations of a run and in `tessera evaluate`.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Transformer.h"
#include "trainer/data/Choices.h"
#include "trainer/settings/SequenceSources.h"

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <set>

namespace tessera::trainer {

struct Config;

struct EvaluateOptions {
  std::string run = "runs/quickstart"; ///< Run folder; its newest checkpoint.
  std::string hellaswag;               ///< Path of a ChoiceFile.
  int64_t limit = 0;                   ///< Number of examples; 0: all.
  std::vector<std::string> overrides;  ///< Such as kernels=torch.
};

/// One scored example. For each ending: the sum of its tokens' losses in nats,
/// and its number of tokens.
struct ScoredChoice {
  std::vector<double> losses;
  std::vector<int64_t> tokens;
  int64_t label = 0;

  /// Returns the index of the ending with the smallest loss: the mean over its
  /// tokens, or the sum. Returns the first of equal ones.
  int64_t chosen(bool byToken) const;
};

struct ChoiceResult {
  int64_t examples = 0;
  int64_t right = 0;      ///< Right by mean loss of a token (llm.c's acc_norm).
  int64_t rightBySum = 0; ///< Right by the sum of losses (llm.c's acc).
  int64_t cut = 0;        ///< Examples whose context lost tokens to fit.
  std::string note;       ///< Of TrainedModel; set by scoreChoices().
};

/// Returns both accuracies and the number of examples as entries of
/// metrics.jsonl and metrics.json.
nlohmann::json metricsOf(const ChoiceResult &result);
/// Returns the same as one line of text.
std::string describe(const ChoiceResult &result);

/// Examples of a file, in memory. The constructor has checked that they fit a
/// model.
class ChoiceSet {
public:
  ChoiceSet() = default;
  /// Reads the first `limit` examples of `file`, or all if `limit` is 0. If a
  /// context and its longest ending exceed the model's longest text, the
  /// context loses its first tokens. Throws tessera::Error if the file is
  /// damaged, a token is not in the model's vocabulary, or an ending leaves no
  /// token for the context.
  ChoiceSet(const std::string &file, int64_t limit, const Config &config);

  bool empty() const { return examples.empty(); }
  /// Scores all examples; calls `each` after each of them.
  ChoiceResult
  score(models::Transformer &model,
        const std::function<void(const ScoredChoice &)> &each = {}) const;
  /// Returns the shapes {sequences, tokens of a sequence} of all forward passes
  /// that score() makes, to prepare kernels for them.
  std::set<std::pair<int64_t, int64_t>> shapes() const;

private:
  std::vector<MultipleChoice> examples;
  /// Sources of the per-sequence values; the context counts as the prompt.
  std::vector<SequenceSource> sources;
  int64_t cut = 0;
};

/// Reads the examples of the file train.hellaswag; returns an empty set if the
/// setting is empty.
ChoiceSet choicesOf(const Config &config);

/// Scores the newest checkpoint of a run; calls `each` after each example.
ChoiceResult
scoreChoices(const EvaluateOptions &options,
             const std::function<void(const ScoredChoice &)> &each);

} // namespace tessera::trainer
