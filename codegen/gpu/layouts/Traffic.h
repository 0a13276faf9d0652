// codegen/gpu/layouts/Traffic.h - memory traffic of accesses in a layout.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialect/layout/LinearLayout.h"

#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace tessera::codegen::gpu {

/// The strides of the addresses of an access, as far as they are known.
struct AccessPattern {
  /// Per axis, the elements from one neighbour to the next; nullopt if the
  /// stride is unknown: neighbours are then assumed to share no sector.
  llvm::SmallVector<std::optional<int64_t>, 3> strides;
  int64_t bytes = 4; // of an element
  /// Neighbours along `axis` that one instruction may move.
  int64_t width = 1;
  int axis = 0;
  /// True for stores and atomics, for which replicas access no memory.
  bool isStore = false;
};

/// The pattern of a load, store or atomic through a tensor of pointers.
/// `axis`: the one along which its addresses run; where their stride is not
/// known there, it counts as 1 (rows up to a limit, loaded offsets).
AccessPattern patternOf(mlir::Operation *op, int axis, int64_t width);

/// The traffic of one execution by a block.
struct Traffic {
  int64_t requests = 0; // instructions of a warp
  int64_t sectors = 0;  // of 32 bytes, each request counts its own
};

/// Returns the traffic of an access. It counts the sectors of the first
/// request, whose first element starts a sector, and assumes the same for all
/// others.
Traffic trafficOf(const layout::LinearLayout &layout,
                  const AccessPattern &pattern);

/// Neighbours along `dim` that each lane holds in its lowest registers, in
/// aligned groups; 1, and -1 for `dim`, where the lowest registers run along
/// no dimension.
int64_t neighboursInLane(const layout::LinearLayout &layout, int &dim);

} // namespace tessera::codegen::gpu
