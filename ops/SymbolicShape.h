// ops/SymbolicShape.h - checks for composite ops, which a compiler may trace
// with symbolic sizes.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/Check.h"

namespace tessera::runtime {

// Like checkShape(), for a tensor whose sizes may be symbolic.
inline void checkSymbolicShape(const char *op, const char *name,
                               const at::Tensor &tensor,
                               c10::SymIntArrayRef shape, const char *meaning) {
  TESSERA_CHECK(tensor.sym_sizes() == shape, op, name, " has shape ",
                tensor.sym_sizes(), " and must have ", shape, " = ", meaning);
}

// True if a compiler is tracing with this tensor, so that it has no data.
inline bool isTraced(const at::Tensor &tensor) {
  return tensor.unsafeGetTensorImpl()->is_python_dispatch();
}

} // namespace tessera::runtime
