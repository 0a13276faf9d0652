// codegen/gpu/lower/shared/Plans.h - conversions between layouts, planned once.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/gpu/kernel/Attributes.h"
#include "dialect/layout/Conversion.h"

#include <memory>

namespace tessera::codegen::gpu {

/// Scratch that one operation should get along with, if it can at all: beyond
/// it tiles go through shared memory in iterations.
int64_t scratchLimit(const GpuOptions &options);

/// layout::planConversion for elements of `elementBytes` bytes. Kernels convert
/// between few pairs of layouts, and both the allocation of scratch and the
/// lowering ask: plans are remembered. Safe to call from several threads.
std::shared_ptr<const layout::ConversionPlan>
planOf(const layout::LinearLayout &src, const layout::LinearLayout &dst,
       int64_t elementBytes, const GpuOptions &options);

/// The cheapest way through shared memory without ldmatrix; layouts without
/// replication in registers (dropReplication). Remembered as well.
std::shared_ptr<const layout::SharedTrip>
tripOf(const layout::LinearLayout &src, const layout::LinearLayout &dst,
       int64_t elementBytes);

/// Whether the plan's stores and loads are of one warp each, so that the warp's
/// own barrier is enough between them. Replicas in other warps are not stored:
/// those warps then wait for the one that stores.
bool staysInWarp(const layout::ConversionPlan &plan,
                 const layout::LinearLayout &src);

} // namespace tessera::codegen::gpu
