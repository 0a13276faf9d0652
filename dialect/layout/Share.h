// dialect/layout/Share.h - distributes replicated elements over lanes.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialect/layout/LinearLayout.h"

#include <optional>

namespace tessera::layout {

/// Returns `layout` with its last register bits moved to lane bits that are
/// free, so that lanes share the work instead of computing replicas. To convert
/// from `layout`, each lane only selects among its registers.
LinearLayout shareReplication(const LinearLayout &layout);

/// Returns the result layout of a reduction along `axis` of a tile in `operand`
/// in which each lane of a row holds a share of the results instead of all.
/// Returns nullopt if a row is in several warps, if its lanes also differ along
/// other axes, or if there are no results to share.
std::optional<LinearLayout> scatteredSlice(const LinearLayout &operand,
                                           int axis);

} // namespace tessera::layout
