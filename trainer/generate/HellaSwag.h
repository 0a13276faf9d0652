// trainer/generate/HellaSwag.h - scores a model on multiple-choice examples.
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
  std::string hellaswag;               ///< ChoiceFile.
  int64_t limit = 0;                   ///< Examples; 0: all.
  std::vector<std::string> overrides;  ///< Such as kernels=torch.
};

/// One example: nats of each ending's tokens, and how many tokens it has.
struct ScoredChoice {
  std::vector<double> losses;
  std::vector<int64_t> tokens;
  int64_t label = 0;

  /// The ending with the least loss by token, or in sum; the first of equals.
  int64_t chosen(bool byToken) const;
};

struct ChoiceResult {
  int64_t examples = 0;
  int64_t right = 0;      ///< By loss of a token, as llm.c and acc_norm.
  int64_t rightBySum = 0; ///< By loss of the whole ending, as acc.
  int64_t cut = 0;        ///< Contexts cut at their beginning to fit.
};

/// The shares of right endings and the number of examples, as metrics.jsonl and
/// metrics.json have them.
nlohmann::json metricsOf(const ChoiceResult &result);
/// The same as one line.
std::string describe(const ChoiceResult &result);

/// The examples of a file in memory, known to fit a model.
class ChoiceSet {
public:
  ChoiceSet() = default;
  /// The first `limit` examples of `file`, all if 0. A context that does not
  /// fit the model's longest text with its longest ending loses its first
  /// tokens. Throws tessera::Error for a file that is damaged, has tokens that
  /// the model does not have, or an ending longer than its texts.
  ChoiceSet(const std::string &file, int64_t limit, const Config &config);

  bool empty() const { return examples.empty(); }
  /// Scores all. `each` is called after each example.
  ChoiceResult
  score(models::Transformer &model,
        const std::function<void(const ScoredChoice &)> &each = {}) const;
  /// Sequences and tokens of a sequence of the forward passes of score().
  std::set<std::pair<int64_t, int64_t>> shapes() const;

private:
  std::vector<MultipleChoice> examples;
  std::vector<SequenceSource> sources; ///< The context is the prompt.
  int64_t cut = 0;
};

/// Those that train.hellaswag names; none where it is empty.
ChoiceSet choicesOf(const Config &config);

/// Scores the newest checkpoint of a run.
ChoiceResult
scoreChoices(const EvaluateOptions &options,
             const std::function<void(const ScoredChoice &)> &each);

} // namespace tessera::trainer
