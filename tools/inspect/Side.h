// tools/inspect/Side.h - one compiled configuration as the page shows it.
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

// The stages that a page needs, for CompileRequest::emit; those of machine code
// only where `machine`.
std::vector<std::string> inspectedStages(bool machine);

// {"title", "kernel", "target", "configuration": [[name, value]...],
//  "panes": [{"id": "tile"|"layout"|"ptx"|"sass", "title", "text": [line...],
//             "links": [[source row...]...]}...],
//  "heat": {"ptx": HEAT, "source": HEAT},
//  "reasons": {"ptx": [text...], "source": [text...]},
//  "resources", "occupancy", "remarks", "counters",
//  "tiles" (Tiles.h), "timeline" (Timeline.h)}
//
// links: for every line the rows of the source pane that it comes from: the
// line itself first, then the lines that called it. Empty: none is known.
// HEAT: {"instructions": [n...]} for every row, and from a simulated launch
// "executed" (warp instructions), "requests", "passes" (over the banks),
// "conflicts" (passes beyond the least) and "sectors"; "stalls": cycles
// (Stalls.h), of all warps of a simulated launch, else of one that does
// everything once. A source row counts what is its own, not what it calls.
// reasons: for every row what most of its stall cycles wait for, or "".
// resources: the compiler's report without its listings. occupancy: [{"limit",
// "blocks"}...], the first with all limits ("limit": which one is tightest),
// the others with that one left out. remarks: [{"row", "place", "text",
// "hint"}...], row -1 if unknown.
Json sideJson(const Configuration &configuration, const SourceRows &source);

} // namespace tessera::tools
