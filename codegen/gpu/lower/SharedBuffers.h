// codegen/gpu/lower/SharedBuffers.h - lists the buffers of shared memory.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/gpu/lower/Lower.h"
#include "ptx/ResourceReport.h"

#include <vector>

namespace tessera::codegen::gpu {

// Returns the buffers and the scratch of the module's operations, sorted by
// offset in bytes, then by size, largest first. They may overlap if they are
// not in use at the same time.
std::vector<ptx::SharedBuffer> sharedBuffers(mlir::ModuleOp module);

// Returns a text that lists the largest four, with sizes in bytes: "131072 for
// the buffer of 3 x 128x64xbf16 (line 30), ...".
std::string describeBuffers(const std::vector<ptx::SharedBuffer> &buffers);

} // namespace tessera::codegen::gpu
