// autotune/search/SearchSpace.h - the configurations that are worth a try.
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
  // The first is the kernel's own choice; no two are the same.
  std::vector<Candidate> candidates;
  // What cannot be tried, with the reason.
  std::vector<std::pair<TuneChoice, std::string>> leftOut;
};

// For the cpu: the hints cpu(...), the decorator's configurations (less warps
// and stages, which mean nothing there), and the combinations of the hints
// space(...), each with the kernel's own value of what it does not name: first
// the kernel's own choice, then those whose tiles promise most (CpuOrder.h).
// What the caller gives stays as it is. `own`: all constexprs of the launch as
// the kernel chooses them without a table. Throws Error for a condition of a
// space that cannot be evaluated.
SearchSpace cpuSearchSpace(const runtime::Description &kernel,
                           const runtime::KnownLaunch &launch,
                           const Constexprs &given, const Constexprs &own);

// For a GPU: the kernel's own choice, the decorator's configurations with their
// warps and stages, those with half and twice the warps and with one stage less
// or more, then the hints cpu(...) and the combinations of the hints space(...)
// with the warps and stages of the kernel's own choice and with half and twice
// as many warps, nearest tiles first. Warps are powers of two up to 16, stages
// 1 to 5. The hint swap_ab is the kernel's, and the register limit is found by
// the compiler for every candidate (codegen/gpu/emit/RegisterLimit.h). No
// candidates where the kernel's own choice is left out.
SearchSpace gpuSearchSpace(const runtime::Description &kernel,
                           const runtime::KnownLaunch &launch,
                           const Constexprs &given, const Constexprs &own);

// Names that any configuration or space sets.
std::vector<std::string> tunableNames(const runtime::Description &kernel);

} // namespace tessera::tune
