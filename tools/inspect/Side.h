// tools/inspect/Side.h - the data of one compiled configuration for the page.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Request.h"
#include "simulator/Findings.h"
#include "support/Json.h"
#include "tools/inspect/Source.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tessera::runtime {
struct CompiledKernel;
} // namespace tessera::runtime

namespace tessera::tools {

struct Configuration {
  std::string title; // "matmul_f16 num_warps=8"
  language::CompileRequest request;
  std::shared_ptr<const runtime::CompiledKernel> kernel;
  std::optional<sim::Counters> counters; // of a simulated launch
};

// Returns the stages that a page needs, for CompileRequest::emit; includes
// those of machine code only if `machine` is set.
std::vector<std::string> inspectedStages(bool machine);

// {"title", "kernel", "target", "configuration": [[name, value]...],
//  "panes": [{"id": "tile"|"layout"|"ptx"|"sass", "title", "text": [line...],
//             "links": [[source row...]...]}...],
//  "heat": {"ptx": HEAT, "source": HEAT},
//  "reasons": {"ptx": [text...], "source": [text...]},
//  "resources", "occupancy", "remarks", "counters",
//  "tiles" (Tiles.h), "timeline" (Timeline.h)}
//
// links: for every line, the rows of the source pane from which it comes: its
// own line first, then the lines of the callers. Empty: unknown.
// HEAT:
// {"instructions": [n...]} for every row. A simulated launch adds "executed"
// (warp instructions), "requests", "passes" (over the banks), "conflicts"
// (passes above the minimum) and "sectors". "stalls" are cycles (Stalls.h) of
// all warps of a simulated launch, otherwise of one warp that executes
// everything once. A source row excludes the functions that it calls.
// reasons:
// the main reason of each row's stall cycles, or "". resources: the compiler's
// report without its listings. occupancy: [{"limit", "blocks"}...]; the first
// entry applies all limits ("limit": the tightest one), each other entry
// ignores one. remarks: [{"row", "place", "text", "hint"}...], row -1 if
// unknown.
Json sideJson(const Configuration &configuration, const SourceRows &source);

} // namespace tessera::tools
