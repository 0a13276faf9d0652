// autotune/choice/StaleEntries.h - entries of kernels that have changed since.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/table/TuneTable.h"

#include <optional>
#include <string>
#include <vector>

namespace tessera::tune {

// TuneKey::textHash of a kernel of this build as it is now; "" where there is
// none of the name, or it does not parse. None: it is not ours, and where its
// file is only a launch can tell.
std::optional<std::string> currentHash(const std::string &kernel);

struct StaleEntry {
  TuneKey key;
  std::string reason; // "the kernel has changed", "there is no such kernel"
};
// In the order of the table. Reads the files of the kernels.
std::vector<StaleEntry> staleEntries(const TuneTable &table);

} // namespace tessera::tune
