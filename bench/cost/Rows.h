// bench/cost/Rows.h - the rows of the cost model's validation.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/search/Validation.h"
#include "support/Json.h"

#include <string>
#include <vector>

namespace tessera::bench {

// From {"profiles", "published"} of a file of results, in its order. Throws
// Error where the published program is not in Triton, or where tiles or warps
// of a launch are not those of the launch that was counted, and Json's
// exceptions for what is missing.
std::vector<tune::PublishedTime> publishedTimes(const Json &results);

// Fits the constants, all of them and without each kernel, and adds
// "constants", "rows" and "summary".
void addPredictions(Json &results);

// The tables of docs/cost-model.md, as Markdown.
std::string tables(const Json &results);

} // namespace tessera::bench
