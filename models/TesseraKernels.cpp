// models/TesseraKernels.cpp - the compiled kernels behind the model's
// operations. Copyright the tessera authors. SPDX-License-Identifier:
// Apache-2.0
#include "models/Kernels.h"

#include "support/Error.h"

#include <ATen/core/dispatch/Dispatcher.h>

namespace tessera::models {

std::unique_ptr<Kernels> makeTesseraKernels() {
  throw Error("kernels: tessera needs the tessera torch operations, which this "
              "program was built without",
              "set kernels=torch");
}

} // namespace tessera::models
