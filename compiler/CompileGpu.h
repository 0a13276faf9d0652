// compiler/CompileGpu.h - a request for a tile kernel to PTX and a cubin.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/Compile.h"

namespace tessera::compiler {

// For targets of support/GpuTarget.h. The artifact is the cubin, empty where
// request.assembler says "none" or no ptxas is found; stages["ptx"] is there
// always. Stages that can be asked for: "tile", "layout" (tile IR with a layout
// in every tensor type), "tiles" (Tiles.h), "places" (an object: the lines
// of PrintedLines.h for "tile" and "layout"), "llvm" (optimized), "ptx", "sass"
// (needs nvdisasm) and "report" (ptx/ResourceReport.h). tile, layout,
// llvm and ptx can be replaced. Phases in timings: parse, semantics, tile,
// layout, lower, optimize, emit, ptxas, report, total.
//
// Throws Error and CompileError.
void compileGpu(const language::CompileRequest &request,
                language::CompileResult &result, const PhaseListener &entering);

} // namespace tessera::compiler
