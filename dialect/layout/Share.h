// dialect/layout/Share.h - what every lane holds, shared out among the lanes.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialect/layout/LinearLayout.h"

#include <optional>

namespace tessera::layout {

/// `layout` with its last registers in the lanes whose bits are free: what
/// replicas would each compute, lanes share. From `layout` to it a lane only
/// chooses among its registers.
LinearLayout shareReplication(const LinearLayout &layout);

/// The result of a reduction along `axis` of a tile in `operand`, of which the
/// lanes that combined their parts hold a share each instead of all of it. None
/// where parts of a row lie in different warps or at places that move along
/// other axes too, or where there is nothing to share.
std::optional<LinearLayout> scatteredSlice(const LinearLayout &operand,
                                           int axis);

} // namespace tessera::layout
