// codegen/gpu/lower/SharedBuffers.h - what lies where in shared memory, for
// people.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/gpu/lower/Lower.h"
#include "ptx/ResourceReport.h"

#include <vector>

namespace tessera::codegen::gpu {

// The places that operations of the module have, by offset, then by size,
// largest first. Scratch of different operations may share a
// place.
std::vector<ptx::SharedBuffer> sharedBuffers(mlir::ModuleOp module);

// "131072 bytes for smem_alloc 3 x 128x64xbf16 (line 30), ...": the largest
// few.
std::string describeBuffers(const std::vector<ptx::SharedBuffer> &buffers);

} // namespace tessera::codegen::gpu
