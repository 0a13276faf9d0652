// trainer/HellaSwag.h - which ending a model finds the likeliest.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tessera::trainer {

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

/// Scores the endings of the first `limit` examples. A context that does not
/// fit train.seq_len with its longest ending loses its first tokens. Calls
/// `each` after each example. Throws tessera::Error for a file that is
/// damaged, or has tokens that the model does not have.
ChoiceResult
scoreChoices(const EvaluateOptions &options,
             const std::function<void(const ScoredChoice &)> &each);

} // namespace tessera::trainer
