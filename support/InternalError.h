// support/InternalError.h - reports a bug of tessera as an Error.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Error.h"

namespace tessera {

/// Throws the Error for a bug in the compiler itself, which a kernel cannot
/// cause.
[[noreturn]] inline void internalError(const std::string &what) {
  throw Error("internal error: " + what,
              "this is a defect of tessera, not of the kernel; please report "
              "it with the kernel");
}

} // namespace tessera
