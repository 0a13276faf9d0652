// trainer/settings/MemoryHint.h - suggests settings for a run that is out of
// memory.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Error.h"
#include "trainer/settings/Config.h"

#include <optional>

namespace tessera::trainer {

/// Settings with which a run needs less memory. smallerRun() tries candidates
/// in this order: logits that are not kept (other rounding, possible at a
/// resume), recomputation (bitwise equal results, possible at a resume), a
/// sharded optimizer state, more but smaller micro-batches. It returns the
/// first whose plan needs at most `bytes`, else the one that needs least.
struct SmallerRun {
  std::vector<std::string> settings; ///< "key=value"; empty: none helps.
  int64_t bytes = 0;                 ///< Memory that its plan needs.
  bool fits = false;
  bool resumes = false; ///< True if a resumed run accepts them.
  bool exact = false;   ///< True if its results are then bitwise equal.
};
/// Searches settings for `config` with which its plan needs at most `bytes`.
SmallerRun smallerRun(const Config &config, int64_t bytes);

/// Returns an error with `what` and the smaller run. `held` is the peak memory
/// of the process in bytes, 0 if unknown.
Error memoryError(const Config &config, const std::string &what, int64_t held);

} // namespace tessera::trainer
