// trainer/settings/MemoryHint.h - what to change when a run has no memory left.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Error.h"
#include "trainer/settings/Config.h"

#include <optional>

namespace tessera::trainer {

/// Settings under which a run takes less, in the order in which they cost
/// little: recomputation, which changes no bit and may come at a resume; the
/// optimizer's state in parts; smaller micro-batches with more of them. The
/// first that takes at most `bytes` by its plan; that with the least, if none.
struct SmallerRun {
  std::vector<std::string> settings; ///< "key=value"; empty: there is none.
  int64_t bytes = 0;                 ///< Of its plan.
  bool fits = false;
  bool resumes = false; ///< A run that goes on takes them.
};
SmallerRun smallerRun(const Config &config, int64_t bytes);

/// An error that names `what` and the smaller run; `held` is the most that the
/// process had, 0 where that is not known.
Error memoryError(const Config &config, const std::string &what, int64_t held);

} // namespace tessera::trainer
