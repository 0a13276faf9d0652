// compiler/GpuPipeline.h - the pass list of GPU targets as text.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/GpuTarget.h"

#include <string>

namespace tessera::compiler {

// One phase a line; for what is no pass of MLIR a few words. `tile` and
// `layout` are texts for tessera-opt --pass-pipeline.
std::string gpuPipelineText(const GpuTarget &target);

} // namespace tessera::compiler
