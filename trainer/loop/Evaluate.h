// trainer/loop/Evaluate.h - held-out loss, by position and by branch.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Transformer.h"
#include "trainer/data/Batches.h"

#include <set>

namespace tessera::trainer {

struct Evaluation {
  /// Bits per byte, or per token (lossUnit()), over all positions.
  double bits = 0;
  /// Positions below 32, from 32 to 255, and 256 up; NaN where there are none.
  double early = 0, middle = 0, late = 0;
  /// Share of the keys that the selection keeps at the last position.
  double selectedFraction = 0;
  int64_t windows = 0;
  double seconds = 0;
};

/// `windows` windows spread over the held-out tokens, all of them if 0 or more
/// than there are. `without` zeroes one NSA branch (0 cmp, 1 sel, 2 win).
Evaluation evaluate(models::Transformer &model, const Corpus &corpus,
                    const Config &config, int64_t windows, int without = -1);

/// The numbers of windows that the evaluations and samples of a run have in one
/// forward pass, each once.
std::set<int64_t> evaluationBatches(const Corpus &corpus, const Config &config);

} // namespace tessera::trainer
