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
//   {"lines": [first, last] of the kernel's file, or null,
//    "rows": [row of the PTX, counted from 0 ...],
//    "kinds": [one of copy, commit, wait, barrier, load, store, ldmatrix,
//              shared, mma, shuffle, other for each row],
//    "groups": [{"commit": i, "wait": j, "iterations": n} ...]}
// A group is the copies that the commit at rows[i] completes. They have arrived
// after the wait at rows[j], n iterations later. Groups that no wait of the
// loop waits for are left out.
Json timelineJson(const ptx::Listing &ptx);

} // namespace tessera::tools
