// tools/profile/Summary.h - sums the time of traced steps by phase, kernel and
// operation.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Json.h"

namespace tessera::tools {

// Returns sums over the events of a trace (trainer/observe/Trace.h) in
// milliseconds:
//
// {"steps": [{"name", "ms", "phases": {name: ms}}...], in order,
//  "phases": [{"name", "ms", "kernels_ms", "gemms_ms"}...], of all steps,
//  "kernels": [{"listed", "name", "configuration", "launches", "ms"}...],
//  "operations": [{"name", "calls", "ms"}...],
//  "total_ms", "kernels_ms", "gemms_ms", "outside_ms"}
//
// kernels: launches within a step, by the event's value "listed". operations:
// the 40 longest of torch's operations and nodes of the backward pass, without
// the operations that they call. kernels_ms: time in which a thread was in a
// launch. gemms_ms: time in a matrix product of torch and not in a launch.
// outside_ms: the rest of total_ms, which is the sum of the steps. Throws Error
// for a trace without steps.
Json summaryOf(const Json &events);

} // namespace tessera::tools
