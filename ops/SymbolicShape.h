// ops/SymbolicShape.h - checks of ops that consist of other ops, which a
// compiler traces with symbols as sizes.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/Check.h"

namespace tessera::runtime {

// checkShape() for a tensor whose sizes may be symbols.
inline void checkSymbolicShape(const char *op, const char *name,
                               const at::Tensor &tensor,
                               c10::SymIntArrayRef shape, const char *meaning) {
  TESSERA_CHECK(tensor.sym_sizes() == shape, op, name, " has shape ",
                tensor.sym_sizes(), " and must have ", shape, " = ", meaning);
}

// Whether a compiler traces the program with it: it does not have numbers.
inline bool isTraced(const at::Tensor &tensor) {
  return tensor.unsafeGetTensorImpl()->is_python_dispatch();
}

} // namespace tessera::runtime
