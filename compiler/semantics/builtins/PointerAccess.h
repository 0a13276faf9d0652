// compiler/semantics/builtins/PointerAccess.h - elements at blocks of pointers.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// The code that tl.load and tl.store of pointers, block pointers and
// descriptors share.
#pragma once

#include "compiler/semantics/Builtins.h"

#include "dialect/tile/TileDialect.h"

namespace tessera::semantics {

struct PointerAccess {
  Tensor pointers;
  mlir::Value mask, other; // null, or of the pointers' shape
};

/// Returns the type of `element` in memory: a byte for a boolean.
Element stored(Element element);

/// Returns NaN or 0 for every pointer, in the type in memory. Only floats have
/// NaN.
mlir::Value paddingOf(Emitter &emit, const Tensor &pointers, bool isNan);

/// A strided array and the int64 coordinates of the elements to access. The
/// shapes of the coordinates broadcast to one another.
struct StridedAccess {
  Tensor base;
  std::vector<Tensor> shape, strides; // int64 scalars
  std::vector<Tensor> coordinates;
  Shape result;
};

/// Returns the pointers, and a mask that is true where the coordinates of the
/// dimensions in `checked` are inside the array. Without such dimensions the
/// mask is null.
PointerAccess accessOf(Emitter &emit, const StridedAccess &array,
                       const std::vector<int64_t> &checked);
PointerAccess accessOf(Emitter &emit, const BlockPointer &pointer,
                       const std::vector<int64_t> &checked);

Tensor loadFrom(Emitter &emit, const PointerAccess &access,
                tile::LoadCacheAttr cache, tile::EvictionAttr eviction,
                bool isVolatile);
/// Stores `value`, which must have the shape of the pointers, cast to the type
/// in memory.
void storeTo(Emitter &emit, const PointerAccess &access, Tensor value,
             tile::StoreCacheAttr cache, tile::EvictionAttr eviction);

/// Returns an argument of run-time integers as int64 scalars, one per
/// dimension.
std::vector<Tensor> coordinates(BuiltinCall &call, size_t index, size_t rank);

} // namespace tessera::semantics
