// tools/inspect/Timeline.h - lists the operations of an iteration of the main
// loop, in order.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptx/Listing.h"
#include "support/Json.h"

namespace tessera::tools {

// Returns the innermost loop with the most tensor instructions, else with the
// most asynchronous copies and loads; null without such a loop. Its
// instructions are in text order from the loop head on; those before the head
// come last:
//    {"lines": [first, last] of the kernel's file, or null,
Json timelineJson(const ptx::Listing &ptx);

} // namespace tessera::tools
