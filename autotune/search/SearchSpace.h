// autotune/search/SearchSpace.h - the configurations that a search tries.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/table/TuneTable.h"
#include "runtime/launch/Describe.h"
#include "runtime/launch/TileGrid.h"

#include <string>
#include <vector>

namespace tessera::tune {

struct Candidate {
  TuneChoice use; // all constexprs that any candidate sets
  Grid grid = {1, 1, 1};
};

struct SearchSpace {
  // The first is the kernel's default configuration; no two are equal.
  std::vector<Candidate> candidates;
  // Configurations that cannot be tried, with the reason.
  std::vector<std::pair<TuneChoice, std::string>> leftOut;
};

// Returns the candidates for the cpu: the kernel's default configuration, the
// hints cpu(...), the decorator's configurations (without warps and stages,
// which the cpu ignores), and the combinations of the hints space(...). Names
// that a candidate leaves open keep the default value. The default comes first;
// the others are ordered by cpuElementCost(). Values that the caller gives are
// fixed. `own` contains all constexprs of the launch without a table. Throws
// Error for a condition of a space that cannot be evaluated.
SearchSpace cpuSearchSpace(const runtime::Description &kernel,
                           const runtime::KnownLaunch &launch,
                           const Constexprs &given, const Constexprs &own);

// Returns the candidates for a GPU. First the kernel's default configuration,
// then the decorator's configurations with their warps and stages, and those
// with half and twice the warps and with one stage less or more. Last the hints
// cpu(...) and the combinations of the hints space(...), nearest tiles first,
// with the default's warps and stages and with half and twice as many warps.
// Warps are powers of two up to 16, stages 1 to 5. The hint swap_ab is not
// varied, and the compiler finds the register limit of every candidate
// (codegen/gpu/emit/RegisterLimit.h). Returns no candidates if the default
// configuration is left out.
SearchSpace gpuSearchSpace(const runtime::Description &kernel,
                           const runtime::KnownLaunch &launch,
                           const Constexprs &given, const Constexprs &own);

// Returns the names that any configuration or space sets.
std::vector<std::string> tunableNames(const runtime::Description &kernel);

} // namespace tessera::tune
