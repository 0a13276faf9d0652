// codegen/gpu/lower/shared/Plans.h - caches plans of layout conversions.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/gpu/kernel/Attributes.h"
#include "dialect/layout/Conversion.h"

#include <memory>

namespace tessera::codegen::gpu {

/// Returns the bytes of scratch that one operation should not exceed if
/// possible. Larger tiles go through shared memory in several iterations.
int64_t scratchLimit(const GpuOptions &options);

/// Returns layout::planConversion() for elements of `elementBytes` bytes. Plans
/// are cached, because the allocation of scratch and the lowering both need
/// them and kernels convert between few pairs of layouts. Thread-safe.
std::shared_ptr<const layout::ConversionPlan>
planOf(const layout::LinearLayout &src, const layout::LinearLayout &dst,
       int64_t elementBytes, const GpuOptions &options);

/// Returns the cheapest way through shared memory without ldmatrix, cached as
/// well. The layouts must not have replication in registers (dropReplication).
std::shared_ptr<const layout::SharedTrip>
tripOf(const layout::LinearLayout &src, const layout::LinearLayout &dst,
       int64_t elementBytes);

/// True if each warp loads only what it stores, so that a warp barrier between
/// stores and loads is enough. False if warps of the source hold replicas: only
/// one of those warps stores, and the others must wait for it.
bool staysInWarp(const layout::ConversionPlan &plan,
                 const layout::LinearLayout &src);

} // namespace tessera::codegen::gpu
