// codegen/gpu/lower/Scan.cpp - scans, sorts, gathers, histograms.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/lower/Emitter.h"
#include "codegen/gpu/lower/Families.h"

#include "codegen/gpu/Scratch.h"

using namespace mlir;

namespace tessera::codegen::gpu {

int64_t scanScratchBytes(Operation *, const GpuOptions &) { return 0; }

bool emitScan(Emitter &, Operation *) { return false; }

} // namespace tessera::codegen::gpu
