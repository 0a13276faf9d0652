// tools/inspect/Timeline.h - what an iteration of the main loop does, in order.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptx/Listing.h"
#include "support/Json.h"

namespace tessera::tools {

// The innermost loop with the most tensor instructions, else with the most
// asynchronous copies and loads; null where there is no loop with any. Its
// instructions from the head on, as the text has them, those before it last:
//   {"lines": [first, last] of the kernel's file, or null,
//    "rows": [row of the PTX, from 0 ...], "kinds": ["copy"...],
//    "groups": [{"commit": i, "wait": j, "iterations": n}...]}
// i and j count in `rows`. A group of copies that is committed at i is known to
// be there after the wait at j, n iterations later; none for a group that no
// wait of the loop waits for. Kinds: copy, commit, wait, barrier, load, store,
// ldmatrix, shared, mma, shuffle, other.
Json timelineJson(const ptx::Listing &ptx);

} // namespace tessera::tools
