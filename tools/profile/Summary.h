// tools/profile/Summary.h - where the time of traced steps went.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Json.h"

namespace tessera::tools {

// Of the events of a trace (trainer/observe/Trace.h), in milliseconds:
//
// {"steps": [{"name", "ms", "phases": {name: ms}}...], in order,
//  "phases": [{"name", "ms", "kernels_ms", "gemms_ms"}...], of all steps,
//  "kernels": [{"listed", "name", "configuration", "launches", "ms"}...],
//  "operations": [{"name", "calls", "ms"}...],
//  "total_ms", "kernels_ms", "gemms_ms", "outside_ms"}
//
// kernels: launches within a step by their kind, "listed" of the event.
// operations: torch's operations and nodes of the backward pass, without what
// they call; the longest 40. kernels_ms: time in which a thread was in a
// launch; gemms_ms: in a matrix product of torch and in no launch; outside_ms:
// the rest of total_ms, the sum of the steps. Throws Error for a trace without
// steps.
Json summaryOf(const Json &events);

} // namespace tessera::tools
