// compiler/GpuPipeline.h - the pass list of GPU targets as text.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/GpuTarget.h"

#include <string>

namespace tessera::compiler {

// Returns one phase per line. `tile` and `layout` are texts for tessera-opt
// --pass-pipeline; phases other than MLIR passes are described in a few words.
std::string gpuPipelineText(const GpuTarget &target);

} // namespace tessera::compiler
