// support/InternalError.h - what must not happen, as an error of ours.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Error.h"

namespace tessera {

/// For what a kernel cannot cause: the compiler itself went wrong.
[[noreturn]] inline void internalError(const std::string &what) {
  throw Error("internal error: " + what,
              "this is a defect of tessera, not of the kernel; please report "
              "it with the kernel");
}

} // namespace tessera
