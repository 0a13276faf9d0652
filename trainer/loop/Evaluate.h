// trainer/loop/Evaluate.h - measures the held-out loss, by position and without
// one NSA branch.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Transformer.h"
#include "trainer/data/Batches.h"

#include <set>

namespace tessera::trainer {

struct Evaluation {
  /// Mean loss of all positions in bits per byte or per token (lossUnit()).
  double bits = 0;
  /// Mean losses of positions 0 to 31, 32 to 255, and 256 or later; NaN without
  /// such a position.
  double early = 0, middle = 0, late = 0;
  /// Fraction of the keys that the last position's query selects.
  double selectedFraction = 0;
  int64_t windows = 0;
  double seconds = 0;
};

/// Evaluates `windows` windows spread over the held-out tokens; all of them if
/// `windows` is 0 or too large. `without` zeroes one NSA branch (0 cmp, 1 sel,
/// 2 win).
Evaluation evaluate(models::Transformer &model, const Corpus &corpus,
                    const Config &config, int64_t windows, int without = -1);

/// Returns the distinct batch sizes (in windows) of the forward passes in a
/// run's evaluations and samples.
std::set<int64_t> evaluationBatches(const Corpus &corpus, const Config &config);

} // namespace tessera::trainer
