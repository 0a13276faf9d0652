// autotune/choice/StaleEntries.h - finds entries of kernels that have changed
// since tuning.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/table/TuneTable.h"

#include <optional>
#include <string>
#include <vector>

namespace tessera::tune {

// Returns the current TuneKey::textHash of a kernel of this build; "" if it
// does not exist or does not parse. Returns nullopt for a kernel of another
// origin, whose file only a launch knows.
std::optional<std::string> currentHash(const std::string &kernel);

struct StaleEntry {
  TuneKey key;
  std::string reason; // "the kernel has changed"
};
// Returns the stale entries in the order of the table. Reads the files of the
// kernels.
std::vector<StaleEntry> staleEntries(const TuneTable &table);

} // namespace tessera::tune
